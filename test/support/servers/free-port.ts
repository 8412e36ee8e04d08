// Chooses free ports for processes that need one as an argument.

import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'

// Below what systems give to outgoing connections: between the choice and the start of the process any client on the machine may be given a port of
// theirs. Below those of `pawl dev` and of the tests' servers, too (worker/dev/ports.ts).
const RANGE = [10_000, 20_000] as const

const given = new Set<number>()

/** A port without a listener at any address, which this function has not returned before. */
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
