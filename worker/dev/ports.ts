// Ports on the loopback address: those that the user fixed, else those of the last start, else free ones.

import { randomInt } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

// Below what systems give to outgoing connections: between the choice and the server's start any client of the machine may be given
// a port of theirs, and the server then does not start. Below the node ports of Kubernetes, too, and below 32768: Temporal's table
// of its members keeps the ring ports in a smallint.
const RANGE = [20_000, 30_000] as const

const NAMES = [
  ...(['etcd', 'kubernetes', 'postgres', 'temporal', 'temporalUi', 'bridgeHealth', 'workerHealth'] as const),
  ...(['webhook', 'webhookHealth', 'api', 'apiHealth'] as const),
  ...(['temporalHttp', 'temporalMetrics'] as const),
  // Where the services of a Temporal server on PostgreSQL call each other, and where they find each other.
  ...(['temporalHistory', 'temporalMatching', 'temporalInternal'] as const),
  ...(['temporalFrontendRing', 'temporalHistoryRing', 'temporalMatchingRing', 'temporalInternalRing'] as const),
] as const

export type PortName = (typeof NAMES)[number]
export type Ports = Readonly<Record<PortName, number>>

/**
 * Chooses all ports and remembers them in `file`, so that addresses survive a restart where nobody took them meanwhile.
 *
 * @throws when a port that the user fixed is taken.
 */
export async function choosePorts(file: string, fixed: Partial<Ports>): Promise<Ports> {
  const last = await readFile(file, 'utf8').then(
    (text) => JSON.parse(text) as Partial<Ports>,
    (): Partial<Ports> => ({}),
  )
  const chosen = new Map<PortName, number>()
  for (const name of NAMES) {
    const wanted = fixed[name]
    if (wanted !== undefined && !(await isFree(wanted)) && !(await isFreeSoon(wanted)))
      throw new Error(`port ${wanted} for ${name} is taken, expected a free one`)
    chosen.set(name, wanted ?? (await reusable(last[name], chosen)) ?? (await freePort(chosen)))
  }
  const ports = Object.fromEntries(chosen) as Record<PortName, number>
  await writeFile(file, JSON.stringify(ports), { mode: 0o600 })
  return ports
}

async function reusable(port: number | undefined, chosen: ReadonlyMap<PortName, number>): Promise<number | undefined> {
  if (port === undefined || [...chosen.values()].includes(port)) return undefined
  return (await isFree(port)) || (await isFreeSoon(port)) ? port : undefined
}

/** Another start that asks just now whether a port is free holds it for a moment. */
async function isFreeSoon(port: number): Promise<boolean> {
  await sleep(50)
  return await isFree(port)
}

async function freePort(chosen: ReadonlyMap<PortName, number>): Promise<number> {
  for (;;) {
    const port = randomInt(...RANGE)
    if (![...chosen.values()].includes(port) && (await isFree(port))) return port
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}
