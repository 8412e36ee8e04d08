// Chooses free ports for processes that need one as an argument.

import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'

// Below the ephemeral ports, because a client could take such a port between the choice and the start of the process.
// Below the ports of `pawl dev` and of the tests' servers (worker/dev/ports.ts).
const RANGE = [10_000, 20_000] as const

const given = new Set<number>()

/** A port without a listener on any IPv4 address. Returns each port at most once. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(...RANGE)
    if (given.has(port) || !(await isFree(port))) continue
    given.add(port)
    return port
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, '0.0.0.0', () => server.close(() => resolve(true)))
  })
}
