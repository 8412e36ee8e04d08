// Finds the first process of a container by the id that Kubernetes has for it.
//
// No runtime is asked: its socket is one more thing that has to be mounted and trusted, and the control groups of a process say the same.

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
 * The container's first process. Where no runtime is, a process may stand for it, by its name; else ids are those of a runtime (`containerd://`, `docker://`, `cri-o://`), or `process://PID` for a process
 * that stands for a container where no runtime is.
 *
 * @throws with the container when no process of it is there.
 */
export async function findContainer(
  proc: string,
  { name, id }: TargetContainer,
  standIns: Readonly<Record<string, number>> = {},
): Promise<FoundContainer> {
  const [, scheme = '', rest = ''] = /^([a-z-]+):\/\/(.+)$/.exec(id) ?? []
  const pid = standIns[name] ?? (scheme === 'process' ? Number(rest) : await mainProcess(proc, rest))
  const main = pid === undefined ? undefined : await processRef(proc, pid)
  if (main === undefined) throw new Error(`container ${name} (${id}): no process of it is there`)
  return { name, main }
}

/**
 * Which processes stand for containers, by their names: what a node agent says in place of a runtime. None without a file.
 *
 * @throws when it is there no more, or is no JSON.
 */
export async function readStandIns(file: string | undefined): Promise<Readonly<Record<string, number>>> {
  if (file === undefined) return {}
  return JSON.parse(await readFile(file, 'utf8')) as Readonly<Record<string, number>>
}

/** Of the processes of a container the one that was started from outside. */
async function mainProcess(proc: string, id: string): Promise<number | undefined> {
  const inside = new Set<number>()
  for (const pid of await pids(proc))
    if ((await readText(join(proc, String(pid), 'cgroup')))?.includes(id) === true) inside.add(pid)
  for (const pid of [...inside].sort((one, other) => one - other))
    if (!inside.has((await parentOf(proc, pid)) ?? 0)) return pid
  return undefined
}
