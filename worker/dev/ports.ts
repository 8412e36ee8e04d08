// Ports on the loopback address: those that the user fixed, else those of the last start, else free ones.

import { randomInt } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'

// Where the services of a Temporal server on PostgreSQL find each other. Its table keeps these ports in a smallint: 32767 at most.
const RINGS = ['temporalFrontendRing', 'temporalHistoryRing', 'temporalMatchingRing', 'temporalInternalRing'] as const
// Below what systems give to outgoing connections, and below the node ports of Kubernetes.
const RING_RANGE = [20_000, 30_000] as const

const NAMES = [
  ...(['etcd', 'kubernetes', 'postgres', 'temporal', 'temporalUi', 'bridgeHealth', 'workerHealth'] as const),
  // Where the services of that server call each other.
  ...(['temporalHistory', 'temporalMatching', 'temporalInternal'] as const),
  ...RINGS,
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
    if (wanted !== undefined && !(await isFree(wanted)))
      throw new Error(`port ${wanted} for ${name} is taken, expected a free one`)
    chosen.set(name, wanted ?? (await reusable(last[name], chosen)) ?? (await freePort(name, chosen)))
  }
  const ports = Object.fromEntries(chosen) as Record<PortName, number>
  await writeFile(file, JSON.stringify(ports), { mode: 0o600 })
  return ports
}

async function reusable(port: number | undefined, chosen: ReadonlyMap<PortName, number>): Promise<number | undefined> {
  if (port === undefined || [...chosen.values()].includes(port)) return undefined
  return (await isFree(port)) ? port : undefined
}

async function freePort(name: PortName, chosen: ReadonlyMap<PortName, number>): Promise<number> {
  const isRing = RINGS.some((ring) => ring === name)
  for (;;) {
    const port = await listen(isRing ? randomInt(...RING_RANGE) : 0)
    if (port !== undefined && ![...chosen.values()].includes(port)) return port
  }
}

async function isFree(port: number): Promise<boolean> {
  return (await listen(port)) !== undefined
}

function listen(port: number): Promise<number | undefined> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(undefined))
    server.listen(port, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : undefined))
    })
  })
}
