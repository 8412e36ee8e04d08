// Chooses ports on the loopback address: fixed by the user, else those of the last start, else free ones.

import { randomInt } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

// Below the ephemeral ports, because a client could take such a port between the choice and the server's start. Below
// the node ports of Kubernetes, and below 32768, because Temporal's membership table stores the ring ports in a
// smallint.
const RANGE = [20_000, 30_000] as const

const NAMES = [
  ...(['etcd', 'kubernetes', 'postgres', 'temporal', 'temporalUi', 'bridgeHealth', 'workerHealth'] as const),
  ...(['webhook', 'webhookHealth', 'api', 'apiHealth'] as const),
  ...(['temporalHttp', 'temporalMetrics'] as const),
  // Ports of the services of a Temporal server on PostgreSQL: gRPC and membership.
  ...(['temporalHistory', 'temporalMatching', 'temporalInternal'] as const),
  ...(['temporalFrontendRing', 'temporalHistoryRing', 'temporalMatchingRing', 'temporalInternalRing'] as const),
] as const

export type PortName = (typeof NAMES)[number]
export type Ports = Readonly<Record<PortName, number>>

/**
 * Chooses all ports and stores them in `file`, so that addresses survive a restart if the ports are still free.
 *
 * @throws an Error if a port that the user fixed is taken.
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
      throw new Error(`port ${wanted} for ${name} is in use; choose a free port`)
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

/** Another start that probes the same port holds it for a moment. */
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
