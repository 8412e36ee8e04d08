// A Disruption from its creation to the kernel, and the restoration at its deletion, with the production controller, chaos pods, node agent and injector. The
// targets are processes of this machine; a Pod object represents each.

import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { openSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'

import type { ObjectList } from '../../activities/kube/client.ts'
import { CHAOS_NAMESPACE } from '../../workflows/chaos/config.ts'
import { whyNot } from '../env/chaos-stage.ts'
import { PATIENT, useChaos } from '../support/chaos/tenants.ts'

const skipReason = whyNot(['iptables', 'iptables-save', 'ip', 'nsenter', 'unshare'])
const titleSuffix = skipReason === undefined ? '' : ` (skipped: ${skipReason})`
const NODE = 'this-machine'
const PROGRAM = new URL('../../worker/program.ts', import.meta.url).pathname

const chaos = useChaos('disruption-real', ['shop'])
const shop = () => chaos.of('shop')
const children: ChildProcess[] = []

beforeAll(async () => {
  await shop().makeNode(NODE)
  const log = openSync(join(chaos.folder, 'node-agent.log'), 'w')
  const { kubeconfigPath } = chaos.tenants.pawl.options.servers
  const state = join(chaos.folder, 'state')
  const flags = ['--nodes', NODE, '--kubeconfig', kubeconfigPath, '--state', state, '--at-end', 'stop']
  children.push(spawn(process.execPath, [PROGRAM, 'node-agent', ...flags], { stdio: ['ignore', log, log] }))
}, 60_000)

afterAll(async () => {
  for (const child of children.reverse()) {
    if (child.exitCode !== null || child.signalCode !== null) continue
    const ended = once(child, 'exit')
    child.kill('SIGTERM')
    await ended
  }
})

describe.skipIf(skipReason !== undefined)(`a Disruption on this machine${titleSuffix}`, () => {
  it('drops packets of the pod, and restores its network at the end', async () => {
    const target = spawn('unshare', ['--net', 'sh', '-c', 'ip link set lo up && exec sleep 600'], { stdio: 'ignore' })
    children.push(target)
    // The rules and user-defined chains. `iptables-save` also prints each table that a program has read before, without rules.
    const rules = () => inNetworkOf(target, 'iptables-save').match(/^(?:-A .*|:\S+ - .*)$/gm) ?? []
    await vi.waitFor(() => expect(inNetworkOf(target, 'ip', 'link', 'show', 'lo')).toContain('UP'), PATIENT)
    const before = rules()
    await runPod('lossy', target)
    await disrupt('lossy', { network: { drop: 40, hosts: [{ host: '127.0.0.2', port: 80, protocol: 'tcp' }] } })
    await shop().until('lossy', { injectionStatus: 'Injected', injectedTargetsCount: 1 })
    expect(rules().join('\n')).toMatch(/-d 127\.0\.0\.2\/32 .*--dport 80 .*--probability 0\.(?:4|39999)\d* -j DROP/)
    await remove('lossy')
    expect(rules()).toEqual(before)
    expect(inNetworkOf(target, 'tc', 'qdisc', 'show')).not.toContain('htb')
  })

  it('kills the process of a container', async () => {
    const target = spawn('sleep', ['600'], { stdio: 'ignore' })
    children.push(target)
    const ended = once(target, 'exit')
    await runPod('killed', target)
    await disrupt('killed', { containerFailure: { forced: true } })
    expect(await ended).toEqual([null, 'SIGKILL'])
    await shop().until('killed', { injectionStatus: 'Injected' })
    await remove('killed')
  })
})

function inNetworkOf({ pid }: ChildProcess, command: string, ...args: readonly string[]): string {
  return execFileSync('nsenter', [`--net=/proc/${pid}/ns/net`, command, ...args], { encoding: 'utf8' })
}

async function disrupt(name: string, spec: object): Promise<void> {
  await shop().disrupt(name, { selector: { app: name }, count: 1, duration: '5m', ...spec })
}

/** Deletes the Disruption, waits until the object is gone, and checks that no chaos pod is left. */
async function remove(name: string): Promise<void> {
  await shop().remove(name)
  await shop().gone(name)
  const pods = `/api/v1/namespaces/${CHAOS_NAMESPACE}/pods`
  expect((await shop().cluster.kube.request<ObjectList>('GET', pods)).items).toEqual([])
}

/** Creates a running pod whose container `app` is the given process. The node agent finds the process by the annotation. */
async function runPod(name: string, { pid }: ChildProcess): Promise<void> {
  const annotations = { 'pawl.dev/processes': JSON.stringify({ app: pid }) }
  await shop().runPod(name, { labels: { app: name }, node: NODE, annotations, containerID: 'kwok://app' })
}
