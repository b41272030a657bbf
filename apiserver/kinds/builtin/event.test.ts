import { expect, it } from "vitest";
import type { KubeObject } from "../../../api/kinds/meta.ts";
import { cellsOf, createComplaints, prepared } from "../../../test/support/admissions.ts";
import { coreEventKind, eventKind } from "./event.ts";

const event = {
  metadata: { name: "hello.1", namespace: "default" },
  eventTime: "2026-01-02T03:03:05.000000Z",
  regarding: { kind: "Sandbox", name: "hello", namespace: "default" },
  reason: "Resumed",
  note: "woken by a connection",
  type: "Normal",
  reportingController: "example.com/controller",
  reportingInstance: "controller-1",
} as KubeObject;

it("an event written in one spelling is read in the other", () => {
  expect(eventKind.view?.toStored(prepared(eventKind, event))).toMatchObject({
    apiVersion: "v1",
    involvedObject: { kind: "Sandbox", name: "hello" },
    message: "woken by a connection",
    reportingComponent: "example.com/controller",
  });
});

it("comes back as it was written", () => {
  const view = eventKind.view;
  expect(view?.fromStored(view.toStored(event))).toEqual({ ...event, apiVersion: "events.k8s.io/v1", kind: "Event" });
});

it.each([
  ["events.k8s.io/v1", eventKind, event],
  ["v1", coreEventKind, eventKind.view?.toStored(event) ?? event],
])("both spellings print the same row: %s", (_version, kind, object) => {
  expect(cellsOf(kind, object)).toMatchObject({
    "Last Seen": "60s",
    Type: "Normal",
    Reason: "Resumed",
    Object: "sandbox/hello",
    Source: "example.com/controller, controller-1",
    Message: "woken by a connection",
    Count: 1,
  });
});

it.each(["involvedObject.name", "regarding.name"])("events can be selected by %s", (field) => {
  expect(eventKind.selectableFields(event)[field]).toBe("hello");
  expect(coreEventKind.selectableFields(eventKind.view?.toStored(event) ?? event)[field]).toBe("hello");
});

it("an event without its time and its reporter is rejected", () => {
  const { eventTime: _time, ...timeless } = event as KubeObject & { readonly eventTime: string };
  expect(createComplaints(eventKind, timeless)).toEqual(["eventTime: Required value"]);
});
