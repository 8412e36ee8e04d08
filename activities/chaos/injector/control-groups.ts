// Where the control groups of a process are, in either version and in the mixture of both.

import { existsSync } from 'node:fs'
import { join } from 'node:path'

import type { ContainerMatch } from '../../../workflows/chaos/injector/network/network-spec.ts'
import { readText } from './processes.ts'
import type { Run } from './shell.ts'

/** Places of the machine. */
export interface GroupRoots {
  readonly proc: string
  /** Where control groups are mounted. */
  readonly cgroup: string
  readonly run: Run
}

export interface Group {
  readonly version: 1 | 2
  readonly folder: string
}

/** The group that accounts for a process, for a controller such as `memory`; undefined: none does. */
export async function groupOf(roots: GroupRoots, pid: number, controller: string): Promise<Group | undefined> {
  const lines = await groupLines(roots, pid)
  const first = lines.find(({ controllers }) => controllers.includes(controller))
  const mounts = first === undefined ? [] : [first.controllers.join(','), controller]
  const folders = mounts.map((mount) => join(roots.cgroup, mount, first?.path ?? ''))
  const mounted = folders.find((folder) => existsSync(folder))
  if (mounted !== undefined) return { version: 1, folder: mounted }
  const unified = lines.find(({ controllers }) => controllers.length === 0)
  const root = unifiedRoot(roots)
  if (unified === undefined || root === undefined) return undefined
  const folder = join(root, unified.path)
  const offered = (await readText(join(folder, 'cgroup.controllers')))?.trim().split(' ') ?? []
  return offered.includes(controller) ? { version: 2, folder } : undefined
}

/** How packets of a process are told from those of others; undefined: they are not. */
export async function containerMatch(roots: GroupRoots, pid: number): Promise<ContainerMatch | undefined> {
  const unified = (await groupLines(roots, pid)).find(({ controllers }) => controllers.length === 0)
  // The root is everybody's.
  if (unified !== undefined && unified.path !== '/' && unifiedRoot(roots) !== undefined)
    return { version: 2, path: unified.path.replace(/^\//, '') }
  const first = await groupOf(roots, pid, 'net_cls')
  return first?.version === 1 ? { version: 1, classidFile: join(first.folder, 'net_cls.classid') } : undefined
}

interface GroupLine {
  /** None: it is the unified hierarchy's. */
  readonly controllers: readonly string[]
  readonly path: string
}

async function groupLines(roots: GroupRoots, pid: number): Promise<readonly GroupLine[]> {
  const file = join(roots.proc, String(pid), 'cgroup')
  const own = (await readText(file)) ?? ''
  const text = own.includes(':/..') ? await seenFromNode(roots, file) : own
  return text.split('\n').flatMap((line) => {
    const [, names = '', path] = /^\d+:([^:]*):(.*)$/.exec(line) ?? []
    return path === undefined ? [] : [{ controllers: names === '' ? [] : names.split(','), path }]
  })
}

/** From inside of a namespace of control groups, others have paths that lead out of it. */
async function seenFromNode({ proc, run }: GroupRoots, file: string): Promise<string> {
  const { code, stdout, stderr } = await run(['nsenter', `--cgroup=${join(proc, '1/ns/cgroup')}`, '--', 'cat', file])
  if (code === 0) return stdout
  throw new Error(`${file} could not be read from the node's namespace: ${stderr.trim()}`)
}

function unifiedRoot({ cgroup }: GroupRoots): string | undefined {
  return [cgroup, join(cgroup, 'unified')].find((root) => existsSync(join(root, 'cgroup.controllers')))
}
