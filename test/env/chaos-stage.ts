// Provides stand-ins for containers, and injectors that disrupt them, for tests of disruptions. A container is a
// process (chaos-agent.js) with a network namespace and cgroups. An injector is a process of `worker/program.ts
// injector`: it injects a failure, such as lost packets, into a container. Needs Linux and root; changes only objects
// that it creates.

import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { createInterface } from 'node:readline'

import { expect, vi } from 'vitest'

const ROOT = join(import.meta.dirname, '../..')
/** The mount point of all cgroup hierarchies. */
const GROUPS = '/sys/fs/cgroup'
/** The mount point of the unified hierarchy, in version 2 or a hybrid set-up. */
export const UNIFIED = [GROUPS, join(GROUPS, 'unified')].find((root) => existsSync(join(root, 'cgroup.controllers')))

/** The reason why this machine cannot run these tests; undefined if it can. */
export function whyNot(programs: readonly string[]): string | undefined {
  if (process.platform !== 'linux') return 'this is no Linux'
  if (process.getuid?.() !== 0) return 'this is not root'
  const missing = programs.filter((program) => !isInstalled(program))
  if (missing.length > 0) return `${missing.join(', ')} not installed`
  try {
    execFileSync('unshare', ['--net', 'true'], { stdio: 'pipe' })
    return undefined
  } catch {
    return 'no network namespace can be made'
  }
}

function isInstalled(program: string): boolean {
  try {
    execFileSync('sh', ['-c', `command -v ${program}`], { stdio: 'pipe' })
    return true
  } catch {
    return false
  }
}

/** The arguments of a command to chaos-agent.js. */
type Told = Readonly<Record<string, unknown>>

export interface Exit {
  readonly code: number | null
  readonly signal: string | null
}

export interface Container {
  readonly pid: number
  /** The ID of the container in the injector's arguments. */
  readonly id: string
  /** Sends a command to chaos-agent.js. @returns its answer. */
  readonly does: <Answer>(deed: string, told?: Told) => Promise<Answer>
  /** Resolves when the process has ended. */
  readonly ended: Promise<Exit>
}

export interface Injector {
  readonly pid: number
  /** The lines of standard output and standard error until now. */
  readonly lines: readonly string[]
  readonly readinessFile: string
  /** Whether the readiness file exists: the injector writes it after it has injected. */
  readonly isReady: () => boolean
  readonly kill: (signal: 'SIGTERM' | 'SIGINT' | 'SIGKILL') => void
  /** Resolves to the exit code; null if a signal ended the process. */
  readonly ended: Promise<number | null>
  /** Terminates it, and expects a complete clean-up. */
  readonly end: () => Promise<void>
  /** Waits for a text in its output. */
  readonly says: (text: string) => Promise<void>
}

export interface ContainerParts {
  /** The container whose network it shares. Default: its own network. */
  readonly beside?: Container
  /** The cgroup.procs files of the groups that it joins. */
  readonly groups?: readonly string[]
}

export interface InjectorParts {
  /** Environment variables; they override the defaults of the stage. */
  readonly env?: Readonly<Record<string, string>>
  /** The container in whose network the injector runs. Default: the network of the test. */
  readonly inside?: Container
}

/** The tests of a file may run at the same time, and `expect.poll` does not support that. */
export const PATIENCE = { timeout: 60_000, interval: 50 }

/** Creates containers and injectors, and ends them all. */
export class ChaosStage {
  readonly folder: string
  private readonly children: ChildProcess[] = []
  private readonly groups: string[] = []

  private constructor(folder: string) {
    this.folder = folder
  }

  static async open(): Promise<ChaosStage> {
    return new ChaosStage(await mkdtemp(join(tmpdir(), 'pawl-chaos-')))
  }

  /** The folder in which the injectors store their state. */
  get state(): string {
    return join(this.folder, 'state')
  }

  /** Creates a cgroup. @param hierarchy path of its root, such as /sys/fs/cgroup/memory. @returns its folder. */
  group(hierarchy: string, name: string): string {
    const folder = join(hierarchy, `${basename(this.folder)}-${name}`)
    mkdirSync(folder)
    this.groups.push(folder)
    return folder
  }

  /** Starts a container. Resolves when its agent answers and its loopback interface is up. */
  async container({ beside, groups = [] }: ContainerParts = {}): Promise<Container> {
    const network =
      beside === undefined ? ['unshare', '--net', '--'] : ['nsenter', `--net=/proc/${beside.pid}/ns/net`, '--']
    // Shell commands by which the process joins its cgroups before it becomes the agent.
    const join_ = groups.map((group) => `echo $$ > ${group}/cgroup.procs && `).join('')
    const command = [...network, process.execPath, join(import.meta.dirname, 'chaos-agent.js')].join(' ')
    const child = spawn('sh', ['-c', `${join_}exec ${command}`], { stdio: ['pipe', 'pipe', 'inherit'] })
    this.children.push(child)
    const answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
    const does = async <Answer>(deed: string, told: Told = {}): Promise<Answer> => {
      child.stdin.write(`${JSON.stringify({ deed, ...told })}\n`)
      const { value, done } = await answers.next()
      if (done === true) throw new Error(`the container has ended before it did ${deed}`)
      return JSON.parse(value) as Answer
    }
    const pid = child.pid ?? 0
    const ended = exitOf(child)
    const container = { pid, id: `process://${pid}`, does, ended }
    // The answer shows that the agent runs, so the process is in its network namespace. The count itself is not used.
    await does('counted')
    run('nsenter', `--net=/proc/${pid}/ns/net`, 'ip', 'link', 'set', 'lo', 'up')
    return container
  }

  /**
   * Connects two networks by interfaces called eth0. Resolves when both interfaces are up.
   *
   * @param ips IPv4 addresses in one /24 network. Only `one` may have several, to be several servers for `other`.
   */
  async connect(one: Container, other: Container, ips: { readonly one: readonly string[]; readonly other: string }) {
    const end = ({ pid }: Container) => ['eth0', 'netns', String(pid)]
    run('ip', 'link', 'add', ...end(one), 'type', 'veth', 'peer', 'name', ...end(other))
    for (const ip of ips.one) inside(one, 'ip', 'addr', 'add', `${ip}/24`, 'dev', 'eth0')
    inside(other, 'ip', 'addr', 'add', `${ips.other}/24`, 'dev', 'eth0')
    for (const each of [one, other]) inside(each, 'ip', 'link', 'set', 'eth0', 'up')
    for (const each of [one, other])
      await vi.waitFor(() => expect(inside(each, 'ip', 'link', 'show', 'eth0')).toContain('state UP'), PATIENCE)
  }

  /** Starts an injector with debug logs, and does not wait for it. */
  injector(args: readonly string[], { env = {}, inside: place }: InjectorParts = {}): Injector {
    const readinessFile = join(this.folder, `ready-${this.children.length}`)
    const enter = place === undefined ? [] : ['nsenter', `--net=/proc/${place.pid}/ns/net`, '--']
    const [program = '', ...rest] = [...enter, process.execPath, join(ROOT, 'worker/program.ts'), 'injector', ...args]
    const child = spawn(program, rest, {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        ...process.env,
        CHAOS_INJECTOR_STATE: this.state,
        CHAOS_INJECTOR_READINESS_FILE: readinessFile,
        LOG_LEVEL: 'debug',
        CHAOS_INJECTOR_MOUNT_CGROUP: GROUPS,
        ...env,
      },
    })
    this.children.push(child)
    const lines: string[] = []
    for (const stream of [child.stdout, child.stderr])
      createInterface({ input: stream }).on('line', (line) => lines.push(line))
    const ended = once(child, 'close').then(([code]) => code as number | null)
    return {
      pid: child.pid ?? 0,
      lines,
      readinessFile,
      ended,
      isReady: () => existsSync(readinessFile),
      kill: (signal) => void child.kill(signal),
      end: async () => {
        child.kill('SIGTERM')
        expect(await ended, lines.join('\n')).toBe(0)
      },
      says: async (text) => await vi.waitFor(() => expect(lines.join('\n')).toContain(text), PATIENCE),
    }
  }

  /** Starts an injector, and waits until it has injected (`isReady`). */
  async injected(args: readonly string[], parts: InjectorParts = {}): Promise<Injector> {
    const injector = this.injector(args, parts)
    await vi.waitFor(() => expect(injector.isReady(), injector.lines.join('\n')).toBe(true), PATIENCE)
    return injector
  }

  /** Kills all containers, injectors and processes in the cgroups, and removes the cgroups and the folder. */
  async close(): Promise<void> {
    for (const child of this.children) child.kill('SIGKILL')
    for (const folder of this.groups) await vi.waitFor(() => expect(removed(folder)).toBe(true), PATIENCE)
    await rm(this.folder, { recursive: true, force: true })
  }
}

async function exitOf(child: ChildProcess): Promise<Exit> {
  const [code, signal] = (await once(child, 'exit')) as [number | null, string | null]
  return { code, signal }
}

/**
 * Sends SIGKILL to all processes of a cgroup, and tries to remove the cgroup. The removal fails until the last process
 * has ended, so the caller polls.
 *
 * @returns whether the cgroup was removed.
 */
function removed(folder: string): boolean {
  for (const pid of readFileSync(join(folder, 'cgroup.procs'), 'utf8')
    .trim()
    .split('\n')
    .filter((one) => one !== ''))
    process.kill(Number(pid), 'SIGKILL')
  try {
    rmdirSync(folder)
    return true
  } catch {
    return false
  }
}

/** @returns the standard output. @throws if the exit code is not 0. */
export function run(program: string, ...args: readonly string[]): string {
  return execFileSync(program, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
}

/** Runs a program in the network namespace of a container. @returns its output. */
export function inside({ pid }: Container, ...argv: readonly string[]): string {
  return run('nsenter', `--net=/proc/${pid}/ns/net`, '--', ...argv)
}

/** All network settings that a disruption could change, without counters and times. */
export function networkState(container: Container): string {
  const rules = inside(container, 'iptables-save')
    .split('\n')
    .filter((line) => !line.startsWith('#'))
  return [
    rules.map((line) => line.replace(/\[\d+:\d+\]/, '[]')).join('\n'),
    inside(container, 'tc', 'qdisc', 'show').replaceAll(/direct_packets_stat \d+/g, ''),
    inside(container, 'tc', 'class', 'show', 'dev', 'eth0'),
    inside(container, 'ip', 'link', 'show'),
  ].join('\n')
}

/**
 * Makes the kernel create the iptables tables `mangle` and `nat`, by a rule that is added and deleted. Otherwise a
 * disruption would create them at their first use, and `networkState` before and after it would differ.
 */
export function openTables(container: Container): void {
  for (const table of ['mangle', 'nat']) {
    const rule = ['-t', table, 'OUTPUT', '-j', 'RETURN']
    inside(container, 'iptables', '-w', ...rule.slice(0, 2), '-A', ...rule.slice(2))
    inside(container, 'iptables', '-w', ...rule.slice(0, 2), '-D', ...rule.slice(2))
  }
}

export function write(path: string, text: string): void {
  writeFileSync(path, text)
}
