// Finds out the capabilities of this kernel by trying them in a temporary network namespace. Source: spec/chaos.md 8.3
// (K6).

import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

import { bootId, isGone } from './processes.ts'
import type { Run } from './shell.ts'

/** The trials by name: a shell line that succeeds if the kernel has the capability. */
const TRIALS = {
  // Creating a network namespace, which all other trials need.
  network: 'true',
  netem: 'tc qdisc add dev lo root netem delay 1ms',
  prio: 'tc qdisc add dev lo root handle 1: prio bands 4',
  tbf: 'tc qdisc add dev lo root tbf rate 1mbit latency 50ms burst 1540',
  htb: 'tc qdisc add dev lo root handle 1: htb default 1',
  fw: 'tc qdisc add dev lo root handle 1: htb && tc filter add dev lo protocol ip parent 1: handle 1 fw flowid 1:1',
  flower:
    'tc qdisc add dev lo root handle 1: htb && tc filter add dev lo protocol ip parent 1: flower ip_proto tcp flowid 1:1',
  drop: 'iptables -w -t mangle -A POSTROUTING -m statistic --mode random --probability 0.5 -m comment --comment c -j DROP',
  classify: 'iptables -w -t mangle -A POSTROUTING -j CLASSIFY --set-class ca05:4',
  mark: 'iptables -w -t mangle -A POSTROUTING -j MARK --set-mark 1',
  connections: 'iptables -w -t mangle -A POSTROUTING -p tcp -m conntrack --ctstate NEW -j RETURN',
  redirect: 'iptables -w -t nat -A OUTPUT -p udp --dport 53 -j DNAT --to-destination 127.0.0.1:5353',
  restore: "printf '*mangle\\n:CHAOS-TRY - [0:0]\\nCOMMIT\\n' | iptables-restore --noflush -w",
  groupPath: 'iptables -w -t mangle -A POSTROUTING -m cgroup --path / -j RETURN',
  groupClass: 'iptables -w -t mangle -A POSTROUTING -m cgroup --cgroup 1 -j RETURN',
} as const

export type Capability = keyof typeof TRIALS

/** The missing capabilities with their reasons. */
export type Missing = Readonly<Partial<Record<Capability, string>>>

/** Tries all capabilities, each in a new namespace. */
export async function tryCapabilities(run: Run): Promise<Missing> {
  const missing: Partial<Record<Capability, string>> = {}
  for (const [name, line] of Object.entries(TRIALS) as [Capability, string][]) {
    const { code, stderr } = await run(['unshare', '--net', '--', 'sh', '-c', line])
    if (code !== 0) missing[name] = stderr.trim().split('\n').at(0) ?? `exit code ${code}`
  }
  return missing
}

/** The result of an earlier trial since the last boot, or of new trials. */
export async function knownCapabilities(run: Run, proc: string, folder: string): Promise<Missing> {
  const path = join(folder, `capabilities-${await bootId(proc)}`)
  const known = await readFile(path, 'utf8').catch((error: unknown) => {
    if (isGone(error)) return undefined
    throw error
  })
  if (known !== undefined) return JSON.parse(known) as Missing
  const missing = await tryCapabilities(run)
  // A missing program may be installed later; the kernel stays the same until the next boot.
  if (Object.values(missing).some((why) => why.includes('not found'))) return missing
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await writeFile(path, JSON.stringify(missing))
  return missing
}

/** One sentence for each needed capability that is missing. */
export function lacks(missing: Missing, needed: readonly Capability[]): readonly string[] {
  const problem = missing.network === undefined ? [] : [`network namespaces cannot be created: ${missing.network}`]
  return [
    ...problem,
    ...needed.flatMap((name) => (missing[name] === undefined ? [] : [`this machine lacks ${name}: ${missing[name]}`])),
  ]
}
