// Manifests as users write them, for `-f -`.

export const sandboxManifest = `
apiVersion: agents.x-k8s.io/v1beta1
kind: Sandbox
metadata:
  name: hello
spec:
  podTemplate:
    spec:
      containers:
        - name: main
          image: example/hello
`;

export const configManifest = `
apiVersion: v1
kind: ConfigMap
metadata:
  name: settings
data:
  color: red
  size: large
`;

export const podManifest = `
apiVersion: v1
kind: Pod
metadata:
  name: worker
  labels:
    app: worker
spec:
  containers:
    - name: main
      image: example/worker:1
      ports:
        - containerPort: 8080
`;
