/** The files that name root and the user of our images, by their paths in an image. */
export const accounts: Readonly<Record<string, string>> = {
  "etc/passwd": "root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin\n",
  "etc/group": "root:x:0:\nnonroot:x:65532:\n",
  "etc/nsswitch.conf": "hosts: files dns\n",
};
