// Decompresses xz, the compression of Debian's packages.

import xz from 'xz-decompress'

export async function unxz(bytes: Uint8Array): Promise<Buffer> {
  const stream = new xz.XzReadableStream(new Blob([new Uint8Array(bytes)]).stream())
  return Buffer.from(await new Response(stream).arrayBuffer())
}
