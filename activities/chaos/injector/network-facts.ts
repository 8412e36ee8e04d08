// What a network disruption has to know of the target's network, as iproute2 tells it.

import type { NetworkRef } from '../../../workflows/chaos/injector/command.ts'
import type { NetworkFacts, NetworkInterface } from '../../../workflows/chaos/injector/network/network-spec.ts'
import { networkPath } from './processes.ts'
import type { Run } from './shell.ts'

type LinkFacts = Pick<NetworkFacts, 'interfaces' | 'gateway'>

/** @throws with what could not be asked. */
export async function linkFacts(proc: string, run: Run, network: NetworkRef): Promise<LinkFacts> {
  const path = await networkPath(proc, network)
  if (path === undefined) throw new Error(`the network of process ${network.pid} is gone`)
  const ask = async (...argv: readonly string[]) => await askJson(run, ['nsenter', `--net=${path}`, '--', ...argv])
  const links = await ask('ip', '-j', 'link', 'show')
  const qdiscs = await ask('tc', '-j', 'qdisc', 'show')
  const routes = await ask('ip', '-j', 'route', 'show', 'default')
  const [route] = routes
  const gateway = text(route?.['gateway'])
  const link = text(route?.['dev'])
  return {
    interfaces: links.map((one) => interfaceOf(one, qdiscs)),
    ...(gateway === '' || link === '' ? {} : { gateway: { ip: gateway, link } }),
  }
}

export interface AskedNetwork {
  readonly proc: string
  readonly run: Run
  readonly network: NetworkRef
}

/** Whether a table of the network has a chain. */
export async function hasChain({ proc, run, network }: AskedNetwork, table: string, chain: string): Promise<boolean> {
  const path = await networkPath(proc, network)
  if (path === undefined) return false
  const { code } = await run(['nsenter', `--net=${path}`, '--', 'iptables', '-w', '-t', table, '-S', chain])
  return code === 0
}

type Row = Readonly<Record<string, unknown>>

/** Those that the kernel gives have no handle, but for the queues of hardware, which are numbered by it. */
function interfaceOf(link: Row, qdiscs: readonly Row[]): NetworkInterface {
  const name = text(link['ifname'])
  const root = qdiscs.find((one) => one['dev'] === name && one['root'] === true)
  const isSet = root !== undefined && text(root['handle']) !== '0:' && text(root['kind']) !== 'mq'
  return {
    name,
    qlen: Number(link['txqlen'] ?? 0),
    ...(isSet ? { rootQdisc: `${text(root['kind'])} ${text(root['handle'])}` } : {}),
  }
}

async function askJson(run: Run, argv: readonly string[]): Promise<readonly Row[]> {
  const { code, stdout, stderr } = await run(argv)
  if (code !== 0) throw new Error(`${argv.join(' ')}: exit code ${code}: ${stderr.trim()}`)
  const rows: unknown = JSON.parse(stdout.trim() === '' ? '[]' : stdout)
  return Array.isArray(rows) ? rows.filter((row): row is Row => typeof row === 'object' && row !== null) : []
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
