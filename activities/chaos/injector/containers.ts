// Finds the first process of a container by the container ID in Kubernetes.
//
// It reads control groups instead of asking the container runtime, whose socket would have to be mounted and trusted.

import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

import type { ProcessRef } from '../../../workflows/chaos/injector/command.ts'
import type { TargetContainer } from '../../../workflows/chaos/injector/invocation.ts'
import { parentOf, pids, processRef, readText } from './processes.ts'

export interface FoundContainer {
  readonly name: string
  readonly main: ProcessRef
}

/**
 * The container's first process. The ID has a runtime's prefix (`containerd://`, `docker://`, `cri-o://`), or is
 * `process://PID` without a runtime. `standIns` maps container names to processes and overrides the ID.
 *
 * @throws if no process exists; the error names the container.
 */
export async function findContainer(
  proc: string,
  { name, id }: TargetContainer,
  standIns: Readonly<Record<string, number>> = {},
): Promise<FoundContainer> {
  const [, scheme = '', rest = ''] = /^([a-z-]+):\/\/(.+)$/.exec(id) ?? []
  const pid = standIns[name] ?? (scheme === 'process' ? Number(rest) : await mainProcess(proc, rest))
  const main = pid === undefined ? undefined : await processRef(proc, pid)
  if (main === undefined) throw new Error(`container ${name} (${id}) has no process`)
  return { name, main }
}

/**
 * The processes that represent containers, by container name, as the node agent writes them. Empty without a file.
 *
 * @throws if the file is missing or not JSON.
 */
export async function readStandIns(file: string | undefined): Promise<Readonly<Record<string, number>>> {
  if (file === undefined) return {}
  return JSON.parse(await readFile(file, 'utf8')) as Readonly<Record<string, number>>
}

/** The only process of the container whose parent is outside of it. */
async function mainProcess(proc: string, id: string): Promise<number | undefined> {
  const inside = new Set<number>()
  for (const pid of await pids(proc))
    if ((await readText(join(proc, String(pid), 'cgroup')))?.includes(id) === true) inside.add(pid)
  for (const pid of [...inside].sort((one, other) => one - other))
    if (!inside.has((await parentOf(proc, pid)) ?? 0)) return pid
  return undefined
}
