package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/containerd/log"
)

// sandbox is where gVisor keeps the state of a Pod. Its sentry is the process that holds the memory of the Pod.
type sandbox struct{ id, root string }

// stateFile is written by runsc, which has no command to correct it.
func (s sandbox) stateFile() string { return s.fileOf(s.id) }

// fileOf is the state file of a container.
func (s sandbox) fileOf(container string) string {
	return filepath.Join(s.root, filepath.Base(container)+"_sandbox:"+s.id+".state")
}

// tornLooks is how often a shim looks at half a file: one that runsc is writing now is whole at one of these looks.
const tornLooks = 20

const betweenLooks = 5 * time.Millisecond

// isTorn tells whether a state file is half a text. runsc writes it in place, and may have been killed. From then on no runsc reads,
// signals or deletes that container.
func (s sandbox) isTorn(container string) bool {
	for range tornLooks {
		text, err := os.ReadFile(s.fileOf(container))
		if err != nil || json.Valid(text) {
			return false
		}
		time.Sleep(betweenLooks)
	}
	return true
}

// removeTorn removes such a file once its sentry has ended. runsc then takes the container for deleted.
func (s sandbox) removeTorn(container string) error {
	if !s.isTorn(container) || s.find() != 0 {
		return nil
	}
	return os.Remove(s.fileOf(container))
}

// state returns all fields of the state file, its status, and the process id of the sentry.
func (s sandbox) state() (fields map[string]json.RawMessage, status string, sentry int, err error) {
	text, err := os.ReadFile(s.stateFile())
	if err != nil {
		return nil, "", 0, err
	}
	var known struct {
		Status  string
		Sandbox struct{ Pid int }
	}
	if err := json.Unmarshal(text, &known); err != nil {
		return nil, "", 0, fmt.Errorf("%s: %w", s.stateFile(), err)
	}
	return fields, known.Status, known.Sandbox.Pid, json.Unmarshal(text, &fields)
}

// runs tells whether gVisor says that a container of the sandbox runs.
func (s sandbox) runs(container string) bool {
	text, err := os.ReadFile(s.fileOf(container))
	var known struct{ Status string }
	return err == nil && json.Unmarshal(text, &known) == nil && known.Status == "running"
}

func (s sandbox) isPaused() (bool, error) {
	_, status, _, err := s.state()
	return status == "paused", err
}

// endIfPaused ends the sentry of a paused Pod. runsc neither kills nor deletes what its state file calls paused, so
// the file is corrected first.
func (s sandbox) endIfPaused() (bool, error) {
	fields, status, sentry, err := s.state()
	if err != nil || status != "paused" {
		return false, err
	}
	fields["status"] = json.RawMessage(`"running"`)
	text, err := json.Marshal(fields)
	if err != nil {
		return false, err
	}
	if err := replaceFile(s.stateFile(), text); err != nil {
		return false, err
	}
	return true, s.end(sentry)
}

// endNow ends the sentry, if there is one. A runsc that was killed may have left half a state file, which does not tell its number.
func (s sandbox) endNow() error {
	_, _, sentry, err := s.state()
	if errors.Is(err, os.ErrNotExist) {
		return nil // the container that holds the Pod together is not created yet
	}
	if err != nil {
		sentry = s.find()
	}
	return s.end(sentry)
}

// find looks for the sentry among all processes. It returns 0 if there is none.
func (s sandbox) find() int {
	processes, _ := os.ReadDir("/proc")
	for _, process := range processes {
		if pid, err := strconv.Atoi(process.Name()); err == nil && s.isSentry(pid) {
			return pid
		}
	}
	return 0
}

func (s sandbox) isSentry(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	words := strings.Split(strings.TrimRight(string(text), "\x00"), "\x00")
	return err == nil && words[0] == "runsc-sandbox" && words[len(words)-1] == s.id
}

// end ends the sentry, and not a process that has its number by now.
func (s sandbox) end(sentry int) error {
	if !s.isSentry(sentry) {
		return nil // it has ended
	}
	if err := syscall.Kill(sentry, syscall.SIGKILL); err != nil && err != syscall.ESRCH {
		return fmt.Errorf("cannot end the sentry %d: %w", sentry, err)
	}
	return nil
}

// longestEnd is for a sentry that has to give back gigabytes.
const longestEnd = time.Second

// waitForEnd waits until a sentry that is about to end is gone. It does not wait for one that goes on.
func waitForEnd(sentry int) {
	for began := time.Now(); isEnding(sentry) && time.Since(began) < longestEnd; {
		time.Sleep(time.Millisecond)
	}
}

// isEnding tells whether a process got SIGKILL, runs its exit, or waits for its parent to notice its end.
func isEnding(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(text), ") ") // proc_pid_stat(5): the third field and those after it
	fields := strings.Fields(rest)
	if len(fields) < 29 {
		return false
	}
	const exiting, killed = 0x4, 1 << (int(syscall.SIGKILL) - 1)
	flags, _ := strconv.ParseInt(fields[6], 10, 64)
	pending, _ := strconv.ParseInt(fields[28], 10, 64)
	return fields[0] == "Z" || fields[0] == "X" || flags&exiting != 0 || pending&killed != 0
}

// timeToAnswer is what a shim that gives up has to send its last answer.
const timeToAnswer = 50 * time.Millisecond

// giveUp ends the sentry and this shim after a failed restore. With an error alone, the Pod would stay half made.
func (c *container) giveUp(ctx context.Context, reason error) error {
	failed := fmt.Errorf("the restore from memory image %s failed: %w", c.image, reason)
	return c.endAll(ctx, errors.Join(failed, c.mark.conclude("failed", reason)))
}

// tryLater does the same before anything is restored, so the image stays unused. The sentry is gone before the mark is: without a mark,
// a Pod that runs counts as one that lives anew.
func (c *container) tryLater(ctx context.Context, reason error) error {
	failed := fmt.Errorf("nothing is restored from memory image %s yet: %w", c.image, reason)
	err := c.endSentry()
	for began := time.Now(); c.sandbox.isSentry(c.sentry) && time.Since(began) < longestEnd; {
		time.Sleep(time.Millisecond)
	}
	return c.endShim(ctx, errors.Join(failed, err, c.mark.release()))
}

func (c *container) endAll(ctx context.Context, failed error) error {
	return c.endShim(ctx, errors.Join(failed, c.endSentry()))
}

func (c *container) endSentry() error {
	if c.sentry == 0 {
		return nil
	}
	return c.sandbox.end(c.sentry)
}

// endShim gives it the time for its last answer.
func (c *container) endShim(ctx context.Context, failed error) error {
	log.G(ctx).Errorf("container %s: %v", c.id, failed)
	time.AfterFunc(timeToAnswer, func() { c.exit(1) })
	return failed
}

// endIfTorn ends the sentry of a Pod that runsc can signal no more.
func (c *container) endIfTorn(ctx context.Context) (bool, error) {
	if !c.sandbox.isTorn(c.sandbox.id) && !c.sandbox.isTorn(c.id) {
		return false, nil
	}
	sentry := c.sandbox.find()
	if sentry == 0 {
		return false, nil
	}
	log.G(ctx).Warnf("container %s: a state file of its Pod is torn, so runsc cannot signal the Pod any more; ending its sentry", c.id)
	return true, c.sandbox.end(sentry)
}

// prepareDelete has gVisor's Delete succeed at the first try.
func (c *container) prepareDelete(ctx context.Context) {
	c.noteDeleted.Do(func() { close(c.deleted) })
	if c.sentry != 0 {
		waitForEnd(c.sentry)
	}
	if err := c.sandbox.removeTorn(c.id); err != nil {
		log.G(ctx).Warnf("container %s: cannot remove its torn state file: %v", c.id, err)
	}
}
