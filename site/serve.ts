// Serves a built site on the loopback address.

import { createReadStream, existsSync, statSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { extname, join } from 'node:path'

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.md': 'text/markdown; charset=utf-8',
  '.txt': 'text/plain; charset=utf-8',
}

/** Resolves when the server listens, and prints its address. @param port 0 for any free port. */
export async function serve(folder: string, base: string, port: number): Promise<void> {
  const server = createServer((request, response) => {
    const pathname = URL.parse(`http://localhost${request.url ?? '/'}`)?.pathname ?? '/'
    // `URL.parse` resolves ".." and the names of files need no decoding, so a path cannot lead out of the folder.
    const wanted = join(folder, pathname.replace(base, '/').replace(/\/$/, '/index.html'))
    const isFound = existsSync(wanted) && statSync(wanted).isFile()
    const file = isFound ? wanted : join(folder, '404.html')
    response.writeHead(isFound ? 200 : 404, { 'content-type': TYPES[extname(file)] ?? 'application/octet-stream' })
    createReadStream(file).pipe(response)
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', resolve)
  })
  process.stdout.write(
    `the documentation is on http://127.0.0.1:${(server.address() as AddressInfo).port}${base} (Ctrl-C stops it)\n`,
  )
}
