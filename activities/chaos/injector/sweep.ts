// Undoes what injectors have left that were killed: by their notes, and without notes by Pawl's marks.
//
//   S1. What belongs to an injector that lives is left alone, with all that is in the network that it disturbs.
//   S2. What is like Pawl's but carries no mark of it is told of, and stays.

import { join } from 'node:path'

import {
  DNS_CHAIN,
  NETWORK_CHAIN,
  REFERENCE_PRIOMAP,
  ROOT_HANDLE,
  RULE_COMMENT,
} from '../../../workflows/chaos/injector/marks.ts'
import { childrenCalled, endProcess } from './children.ts'
import { type Executor, realExecutor, type Machine } from './executor.ts'
import { type Log, textOf } from './log.ts'
import { undoAll } from './one-injection.ts'
import { bootId, isAlive, networks, nodeGroups, parentOf, readText } from './processes.ts'
import type { UndoLog } from './undo-log.ts'
import { type UndoEntry } from './undo-log.ts'

export interface SweepParts {
  readonly machine: Machine
  readonly undoLog: UndoLog
  readonly log: Log
}

export interface Swept {
  /** What was undone. */
  readonly undone: readonly string[]
  /** What is there still, and why. */
  readonly left: readonly string[]
}

/** Undoes what the notes say. @param isOne which of those whose injector is gone. */
export async function sweepNotes(
  { machine, undoLog, log }: SweepParts,
  isOne: (entry: UndoEntry) => boolean,
): Promise<Swept> {
  const executor = realExecutor(machine)
  const { entries, unreadable } = await undoLog.read()
  const boot = await bootId(machine.proc)
  const undone: string[] = []
  const left = unreadable.map((path) => `${path} cannot be read`)
  for (const entry of entries.filter(isOne)) {
    if (entry.bootId === boot && (await isAlive(machine.proc, entry.owner))) continue
    try {
      // Of an earlier start of the machine nothing is left but the note.
      if (entry.bootId === boot) await undoEntry(executor, entry)
      await undoLog.remove(entry.key)
      undone.push(entry.what)
    } catch (error) {
      left.push(`${entry.what}: ${textOf(error)}`)
    }
  }
  if (undone.length > 0) log.info('undone what a killed injector has left', { undone })
  return { undone, left }
}

async function undoEntry(executor: Executor, { undo, key, network }: UndoEntry): Promise<void> {
  await undoAll(executor, undo, { key, network })
}

/**
 * Everything: notes first, then what carries a mark in any network, then children whose injector is gone.
 *
 * @param only the number of a network namespace, beside which none is looked at; undefined: all that can be seen.
 */
export async function sweepAll(parts: SweepParts, only?: number): Promise<Swept> {
  const notes = await sweepNotes(parts, () => true)
  const { entries } = await parts.undoLog.read()
  const living = new Set(entries.flatMap(({ network }) => (network === undefined ? [] : [network.inode])))
  const undone: string[] = []
  const left: string[] = []
  for (const [path, inode] of await networks(parts.machine.proc)) {
    if (living.has(inode) || inode !== (only ?? inode)) continue
    const swept = await sweepNetwork(parts.machine, path)
    undone.push(...swept.undone)
    left.push(...swept.left)
  }
  return {
    undone: [...notes.undone, ...undone, ...(await sweepChildren(parts.machine))],
    left: [...notes.left, ...left],
  }
}

const RULE = new RegExp(`^-A (.*--comment "?${RULE_COMMENT}"?.*)$`)

async function sweepNetwork({ run, proc }: Machine, path: string): Promise<Swept> {
  const enter = ['nsenter', `--net=${path}`, ...(await nodeGroups(proc)), '--']
  const undone: string[] = []
  const left: string[] = []
  const remove = async (argv: readonly string[]) => {
    const { code, stderr } = await run([...enter, ...argv])
    if (code === 0) undone.push(argv.join(' '))
    else left.push(`${argv.join(' ')}: exit code ${code}: ${stderr.trim()}`)
  }
  for (const [table, chain] of [
    ['mangle', NETWORK_CHAIN],
    ['nat', DNS_CHAIN],
  ] as const) {
    const { code, stdout } = await run([...enter, 'iptables', '-w', '-t', table, '-S'])
    if (code !== 0) continue
    const lines = stdout.split('\n')
    const marked = lines.flatMap((line) => RULE.exec(line)?.[1] ?? [])
    for (const rule of marked) await remove(['iptables', '-w', '-t', table, '-D', ...words(rule)])
    if (!lines.includes(`-N ${chain}`)) continue
    const others = lines.filter((line) => line.endsWith(`-j ${chain}`) && !RULE.test(line))
    await remove(['iptables', '-w', '-t', table, '-F', chain])
    if (others.length === 0) await remove(['iptables', '-w', '-t', table, '-X', chain])
    // Whoever leads there has to know why; it is empty now.
    else left.push(...others.map((line) => `${table}: ${line}`))
  }
  await sweepQdiscs({ run: async (argv) => await run([...enter, ...argv]), remove, left })
  return { undone, left }
}

interface QdiscSweep {
  readonly run: Machine['run']
  readonly remove: (argv: readonly string[]) => Promise<void>
  readonly left: string[]
}

async function sweepQdiscs({ run, remove, left }: QdiscSweep): Promise<void> {
  const { stdout } = await run(['tc', 'qdisc', 'show'])
  for (const line of stdout.split('\n')) {
    const [, kind = '', handle = '', name = ''] = /^qdisc (\S+) (\S+) dev (\S+) root/.exec(line) ?? []
    const isTree =
      kind === 'prio' && handle === '1:' && line.replaceAll('  ', ' ').includes(`bands 4 priomap ${REFERENCE_PRIOMAP}`)
    if (handle === ROOT_HANDLE || isTree) await remove(['tc', 'qdisc', 'del', 'dev', name, 'root'])
    else if (kind === 'netem') left.push(`${line.trim()}: shaped by somebody else`)
  }
}

/** As iptables prints rules: words, of which some are quoted. */
function words(rule: string): readonly string[] {
  return [...rule.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '')
}

async function sweepChildren({ proc }: Machine): Promise<readonly string[]> {
  const ended: string[] = []
  for (const pid of await childrenCalled(proc, () => true)) {
    const line = await readText(join(proc, String(pid), 'cmdline'))
    const [, parent] = /\0--parent-pid\0(\d+)/.exec(line ?? '') ?? []
    if (parent === undefined || (await parentOf(proc, pid)) === Number(parent)) continue
    await endProcess(proc, pid)
    ended.push(`process ${pid}`)
  }
  return ended
}
