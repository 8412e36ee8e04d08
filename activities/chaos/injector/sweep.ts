// Undoes the injections of killed injectors: first by their undo log, then by Pawl's marks.
//
// S1. The injections of a living injector, and its target's network, are left unchanged.
// S2. Objects that resemble Pawl's but carry no mark are reported and left unchanged.

import { join } from 'node:path'
import {
  DNS_CHAIN,
  NETWORK_CHAIN,
  REFERENCE_PRIOMAP,
  ROOT_HANDLE,
  RULE_COMMENT,
} from '../../../workflows/chaos/injector/marks.ts'
import { childrenNamed, endProcess, Children } from './children.ts'
import { type Executor, realExecutor, type Machine } from './executor.ts'
import { type Log, textOf, createLog } from './log.ts'
import { undoAll } from './injection.ts'
import { bootId, isAlive, networks, cgroupNamespaceArguments, parentOf, readText, networkOf } from './processes.ts'
import { UndoLog, type UndoEntry } from './undo-log.ts'
import { absolutePath, Flags } from '../../../workflows/chaos/injector/flags.ts'
import { integerIn } from '../../../workflows/chaos/grammar.ts'
import type { ProgramStart } from '../../program.ts'
import { tryCapabilities } from './capabilities.ts'
import { openCluster } from './cluster-client.ts'
import { systemClock } from './clock.ts'
import { readSettings } from './settings.ts'
import { runProgram } from './shell.ts'

export interface SweepParts {
  readonly machine: Machine
  readonly undoLog: UndoLog
  readonly log: Log
}

export interface SweepResult {
  /** The undone injections. */
  readonly undone: readonly string[]
  /** The remaining ones, with reasons. */
  readonly remaining: readonly string[]
}

/** Undoes entries of the undo log whose injector has ended. @param isOne selects the entries. */
export async function sweepNotes(
  { machine, undoLog, log }: SweepParts,
  isOne: (entry: UndoEntry) => boolean,
): Promise<SweepResult> {
  const executor = realExecutor(machine)
  const { entries, unreadable } = await undoLog.read()
  const boot = await bootId(machine.proc)
  const undone: string[] = []
  const remaining = unreadable.map((path) => `${path} cannot be read`)
  for (const entry of entries.filter(isOne)) {
    if (entry.bootId === boot && (await isAlive(machine.proc, entry.owner))) continue
    try {
      // After a reboot only the entry itself remains.
      if (entry.bootId === boot) await undoEntry(executor, entry)
      await undoLog.remove(entry.key)
      undone.push(entry.what)
    } catch (error) {
      remaining.push(`${entry.what}: ${textOf(error)}`)
    }
  }
  if (undone.length > 0) log.info('undone the changes of a killed injector', { undone })
  return { undone, remaining }
}

async function undoEntry(executor: Executor, { undo, key, network }: UndoEntry): Promise<void> {
  await undoAll(executor, undo, { key, network })
}

/**
 * Undoes everything: first the undo log, then marked objects in all networks, then children without an injector.
 *
 * @param only the inode of the only network namespace to search; undefined: all visible ones.
 */
export async function sweepAll(parts: SweepParts, only?: number): Promise<SweepResult> {
  const notes = await sweepNotes(parts, () => true)
  const { entries } = await parts.undoLog.read()
  const living = new Set(entries.flatMap(({ network }) => (network === undefined ? [] : [network.inode])))
  const undone: string[] = []
  const remaining: string[] = []
  for (const [path, inode] of await networks(parts.machine.proc)) {
    if (living.has(inode) || inode !== (only ?? inode)) continue
    const swept = await sweepNetwork(parts.machine, path)
    undone.push(...swept.undone)
    remaining.push(...swept.remaining)
  }
  return {
    undone: [...notes.undone, ...undone, ...(await sweepChildren(parts.machine))],
    remaining: [...notes.remaining, ...remaining],
  }
}

const RULE = new RegExp(`^-A (.*--comment "?${RULE_COMMENT}"?.*)$`)

async function sweepNetwork({ run, proc }: Machine, path: string): Promise<SweepResult> {
  const enter = ['nsenter', `--net=${path}`, ...(await cgroupNamespaceArguments(proc)), '--']
  const undone: string[] = []
  const remaining: string[] = []
  const remove = async (argv: readonly string[]) => {
    const { code, stderr } = await run([...enter, ...argv])
    if (code === 0) undone.push(argv.join(' '))
    else remaining.push(`${argv.join(' ')}: exit code ${code}: ${stderr.trim()}`)
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
    // The rule stays for a user to inspect; its chain is empty now.
    else remaining.push(...others.map((line) => `${table}: ${line}`))
  }
  await sweepQdiscs({ run: async (argv) => await run([...enter, ...argv]), remove, remaining })
  return { undone, remaining }
}

interface QdiscSweep {
  readonly run: Machine['run']
  readonly remove: (argv: readonly string[]) => Promise<void>
  readonly remaining: string[]
}

async function sweepQdiscs({ run, remove, remaining }: QdiscSweep): Promise<void> {
  const { stdout } = await run(['tc', 'qdisc', 'show'])
  for (const line of stdout.split('\n')) {
    const [, kind = '', handle = '', name = ''] = /^qdisc (\S+) (\S+) dev (\S+) root/.exec(line) ?? []
    const isTree =
      kind === 'prio' && handle === '1:' && line.replaceAll('  ', ' ').includes(`bands 4 priomap ${REFERENCE_PRIOMAP}`)
    if (handle === ROOT_HANDLE || isTree) await remove(['tc', 'qdisc', 'del', 'dev', name, 'root'])
    else if (kind === 'netem') remaining.push(`${line.trim()}: set by another program`)
  }
}

/** Splits a printed iptables rule into words, some of which are quoted. */
function words(rule: string): readonly string[] {
  return [...rule.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '')
}

async function sweepChildren({ proc }: Machine): Promise<readonly string[]> {
  const ended: string[] = []
  for (const pid of await childrenNamed(proc, () => true)) {
    const line = await readText(join(proc, String(pid), 'cmdline'))
    const [, parent] = /\0--parent-pid\0(\d+)/.exec(line ?? '') ?? []
    if (parent === undefined || (await parentOf(proc, pid)) === Number(parent)) continue
    await endProcess(proc, pid)
    ended.push(`process ${pid}`)
  }
  return ended
}

/** Exit code 1 if something that is or may be Pawl's remains. */
export async function runSweep({ args, env, self, print }: ProgramStart): Promise<number> {
  const settings = readSettings(env)
  const flags = new Flags(args)
  const folder = flags.withDefault('state', absolutePath, settings.stateFolder)
  const pid = flags.optional('network-of', integerIn(1, 2 ** 22))
  flags.refuseUnknown()
  if (flags.problems.length > 0) throw new Error(flags.problems.join('\n'))
  const { proc } = settings
  const network = pid === undefined ? undefined : await networkOf(proc, pid)
  if (pid !== undefined && network === undefined) throw new Error(`--network-of: process ${pid} does not exist`)
  const cluster = openCluster(settings)
  const children = new Children({ proc, env, self })
  const machine: Machine = { proc, run: runProgram, clock: systemClock, children, cluster }
  const log = createLog(print, settings.logLevel, {}, systemClock.now)
  if (log === undefined) throw new Error(`LOG_LEVEL: found '${settings.logLevel}'; expected debug, info, warn or error`)
  const { undone, remaining } = await sweepAll({ machine, undoLog: new UndoLog(folder), log }, network?.inode)
  await cluster?.close()
  for (const line of undone) print(`undone: ${line}\n`)
  for (const line of remaining) print(`left: ${line}\n`)
  return remaining.length > 0 ? 1 : 0
}

/** Prints the missing capabilities of this kernel. */
export async function runCapabilities({ print }: ProgramStart): Promise<number> {
  for (const [name, why] of Object.entries(await tryCapabilities(runProgram))) print(`lacks ${name}: ${why}\n`)
  return 0
}
