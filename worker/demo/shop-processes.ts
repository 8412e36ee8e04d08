// Starts the processes of the chapter about chaos: a shop, with its own network namespace if this machine allows one,
// and its visitors.

import { type ChildProcessByStdio, execFile, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

import { childEnvironment } from '../server/config.ts'

const SHOP = [
  process.execPath,
  '--disable-warning=ExperimentalWarning',
  fileURLToPath(new URL('shop.ts', import.meta.url)),
]
/** In its own network namespace; otherwise a free port is used. */
const PORT = 8080
const LONGEST_START_MS = 30_000

/** The network backend that most kernels support. */
export const BACKEND = { CHAOS_INJECTOR_NETWORK_BACKEND: 'iptables-htb' } as const

type Child = ChildProcessByStdio<Writable, Readable, null>

export type Ability =
  /** Network namespaces can be created and disrupted. */
  | { readonly can: 'slow down' }
  /** Only processes can be killed, for this reason. */
  | { readonly can: 'kill'; readonly because: string }
  /** No injector can run, for this reason. */
  | { readonly can: 'nothing'; readonly because: string }

/** The disruptions that this machine allows. */
export function abilityHere(): Ability {
  if (process.platform !== 'linux') return { can: 'nothing', because: 'injectors need Linux' }
  const away = missing(['sh', 'setsid'])
  if (away !== '') return { can: 'nothing', because: `${away} not installed` }
  if (process.getuid?.() !== 0) return { can: 'kill', because: 'only root may disturb a network' }
  const lacking = missing(['ip', 'tc', 'iptables', 'iptables-save', 'iptables-restore', 'nsenter', 'unshare'])
  if (lacking !== '') return { can: 'kill', because: `${lacking} not installed` }
  try {
    execFileSync('unshare', ['--net', 'sh', '-c', TRIAL], { stdio: 'pipe' })
    return { can: 'slow down' }
  } catch {
    return { can: 'kill', because: 'this kernel cannot limit the bandwidth of a network of ours' }
  }
}

/** The commands that `BACKEND` needs, run in a temporary network namespace. */
const TRIAL = [
  'ip link set lo up && tc qdisc add dev lo root handle 1: htb default 1 && iptables-save',
  'iptables -t mangle -A POSTROUTING -m comment --comment trial -j CLASSIFY --set-class 1:4',
].join(' && ')

function missing(programs: readonly string[]): string {
  return programs.filter((program) => !isInstalled(program)).join(', ')
}

function isInstalled(program: string): boolean {
  try {
    execFileSync('sh', ['-c', `command -v ${program}`], { stdio: 'pipe' })
    return true
  } catch {
    return false
  }
}

export interface Shop {
  readonly pid: number
  readonly port: number
  /** Resolves when the process has ended. */
  readonly ended: Promise<unknown>
}

export class ShopProcesses {
  readonly #hasNetwork: boolean
  readonly #children: Child[] = []
  #shop: Shop | undefined

  /** @param hasNetwork true to give the shop its own network namespace. */
  constructor(hasNetwork: boolean) {
    this.#hasNetwork = hasNetwork
    process.once('exit', () => this.#kill())
  }

  /** Starts the shop and waits until it answers; a restarted shop uses the same port. */
  async open(): Promise<Shop> {
    const port = this.#shop?.port ?? (this.#hasNetwork ? PORT : 0)
    const network = this.#hasNetwork ? ['unshare', '--net', 'sh', '-c', 'ip link set lo up && exec "$0" "$@"'] : []
    const child = this.#start([...network, ...SHOP, 'serve', String(port)])
    const ended = once(child, 'exit')
    const said = await Promise.race([
      once(createInterface(child.stdout), 'line', { signal: AbortSignal.timeout(LONGEST_START_MS) }),
      ended.then(([code]) => Promise.reject(new Error(`the shop ended with exit code ${code}; expected it to serve`))),
    ])
    this.#shop = { pid: child.pid ?? 0, port: Number(said[0]), ended }
    return this.#shop
  }

  /** @param report called with the number of pages in each second. */
  visit({ pid, port }: Shop, report: (pages: number) => void): void {
    const network = this.#hasNetwork ? ['nsenter', `--net=/proc/${pid}/ns/net`, '--'] : []
    const child = this.#start([...network, ...SHOP, 'visit', String(port)])
    createInterface(child.stdout).on('line', (line) => report(Number(line)))
  }

  /** Rules, queues and classes of the shop's network without counters; empty without an own network namespace. */
  async network({ pid }: Shop): Promise<string> {
    if (!this.#hasNetwork) return ''
    const inside = async (...command: readonly string[]) =>
      (await promisify(execFile)('nsenter', [`--net=/proc/${pid}/ns/net`, '--', ...command])).stdout
    const [rules, queues, classes] = await Promise.all([
      inside('iptables-save'),
      inside('tc', 'qdisc', 'show'),
      inside('tc', 'class', 'show', 'dev', 'lo'),
    ])
    // Default chains remain after iptables has listed a table, so only added rules count.
    const lines = rules.split('\n').filter((line) => line.startsWith('-') || / - \[/.test(line))
    return [...lines.map((line) => line.replace(/\[\d+:\d+\]/, '')), queues, classes].join('\n')
  }

  async close(): Promise<void> {
    const running = this.#children.filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null)
    const ends = running.map((child) => once(child, 'exit'))
    this.#kill()
    await Promise.all(ends)
  }

  #start([program = '', ...args]: readonly string[]): Child {
    const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'], env: childEnvironment() })
    child.stdin.on('error', () => undefined)
    this.#children.push(child)
    return child
  }

  #kill(): void {
    for (const child of this.#children) child.kill('SIGKILL')
  }
}
