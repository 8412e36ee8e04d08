// A Disruption from kubectl to the kernel and back: controller, chaos pod, node agent and injector are those of production, and meet through the API.

import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, openSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'

import type { ObjectList } from '../../activities/kube/client.ts'
import { resourcePath } from '../../activities/kube/resource-path.ts'
import { CHAOS_NAMESPACE } from '../../workflows/chaos/config.ts'
import { whyNot } from '../env/chaos-stage.ts'
import { configFile } from '../support/chaos/config-file.ts'
import { useTenants } from '../support/tenants.ts'

const missing = whyNot(['iptables', 'iptables-save', 'ip', 'nsenter', 'unshare'])
const because = missing === undefined ? '' : ` (skipped: ${missing})`
const CHAOS = 'chaos.datadoghq.com/v1beta1'
const NODE = 'this-machine'
const PROGRAM = new URL('../../worker/program.ts', import.meta.url).pathname
const PATIENT = { timeout: 60_000, interval: 100 }
const MERGE = 'application/merge-patch+json'

const folder = mkdtempSync(join(tmpdir(), 'pawl-disruption-real-'))
const ofBoth = ['--wings', 'chaos', '--content-key', join(folder, 'content.key')]
const tenants = useTenants('disruption-real', ['shop'], undefined, {
  wings: ['chaos'],
  bridgeFlags: ofBoth,
  workerFlags: [...ofBoth, '--chaos-config', configFile(folder, { controller: { finalizerDeletionDelay: '0s' } })],
})
const shop = () => tenants.of('shop')
const children: ChildProcess[] = []

beforeAll(async () => {
  vi.setConfig({ testTimeout: 120_000 })
  const { kube } = shop()
  await kube.request('POST', '/api/v1/nodes', { body: { metadata: { name: NODE } } })
  const conditions = [{ type: 'Ready', status: 'True', lastHeartbeatTime: new Date().toISOString() }]
  await kube.request('PATCH', `/api/v1/nodes/${NODE}/status`, { body: { status: { conditions } }, contentType: MERGE })
  const log = openSync(join(folder, 'node-agent.log'), 'w')
  const { kubeconfigPath } = tenants.pawl.options.servers
  const flags = ['--nodes', NODE, '--kubeconfig', kubeconfigPath, '--state', join(folder, 'state'), '--at-end', 'stop']
  children.push(spawn(process.execPath, [PROGRAM, 'node-agent', ...flags], { stdio: ['ignore', log, log] }))
}, 60_000)

afterAll(async () => {
  for (const child of children.reverse()) {
    if (child.exitCode !== null || child.signalCode !== null) continue
    const ended = once(child, 'exit')
    child.kill('SIGTERM')
    await ended
  }
  rmSync(folder, { recursive: true, force: true, maxRetries: 10 })
})

describe.skipIf(missing !== undefined)(`a Disruption on this machine${because}`, () => {
  it('loses packets of the pod while it is there, and leaves its network as it was', async () => {
    const target = spawn('unshare', ['--net', 'sh', '-c', 'ip link set lo up && exec sleep 600'], { stdio: 'ignore' })
    children.push(target)
    // Rules, and chains that somebody has made: a table that was looked into stays, empty.
    const rules = () => inNetworkOf(target, 'iptables-save').match(/^(?:-A .*|:\S+ - .*)$/gm) ?? []
    await vi.waitFor(() => expect(inNetworkOf(target, 'ip', 'link', 'show', 'lo')).toContain('UP'), PATIENT)
    const before = rules()
    await run('lossy', target)
    await disrupt('lossy', { network: { drop: 40, hosts: [{ host: '127.0.0.2', port: 80, protocol: 'tcp' }] } })
    await until('lossy', { injectionStatus: 'Injected', injectedTargetsCount: 1 })
    expect(rules().join('\n')).toMatch(/-d 127\.0\.0\.2\/32 .*--dport 80 .*--probability 0\.(?:4|39999)\d* -j DROP/)
    await remove('lossy')
    expect(rules()).toEqual(before)
    expect(inNetworkOf(target, 'tc', 'qdisc', 'show')).not.toContain('htb')
  })

  it('kills the process of a container', async () => {
    const target = spawn('sleep', ['600'], { stdio: 'ignore' })
    children.push(target)
    const ended = once(target, 'exit')
    await run('killed', target)
    await disrupt('killed', { containerFailure: { forced: true } })
    expect(await ended).toEqual([null, 'SIGKILL'])
    await until('killed', { injectionStatus: 'Injected' })
    await remove('killed')
  })
})

function inNetworkOf({ pid }: ChildProcess, command: string, ...args: readonly string[]): string {
  return execFileSync('nsenter', [`--net=/proc/${pid}/ns/net`, command, ...args], { encoding: 'utf8' })
}

const path = (name: string) => resourcePath({ apiVersion: CHAOS, plural: 'disruptions' }, 'shop', name)

async function disrupt(name: string, spec: object): Promise<void> {
  const whole = { selector: { app: name }, count: 1, duration: '5m', ...spec }
  await shop().create({ apiVersion: CHAOS, kind: 'Disruption', metadata: { name }, spec: whole }, 'disruptions')
}

async function until(name: string, expected: object): Promise<void> {
  await vi.waitFor(
    async () => expect((await shop().get('disruptions', name, CHAOS))?.status).toMatchObject(expected),
    PATIENT,
  )
}

/** As `kubectl delete` with its wait; then nothing is left of it. */
async function remove(name: string): Promise<void> {
  await shop().kube.request('DELETE', path(name))
  await vi.waitFor(async () => expect(await shop().get('disruptions', name, CHAOS)).toBeUndefined(), PATIENT)
  const { items } = await shop().kube.request<ObjectList>('GET', `/api/v1/namespaces/${CHAOS_NAMESPACE}/pods`)
  expect(items).toEqual([])
}

/** A pod that runs, of which a process of this machine is the container. */
async function run(name: string, { pid }: ChildProcess): Promise<void> {
  const { kube } = shop()
  const annotations = { 'pawl.dev/processes': JSON.stringify({ app: pid }) }
  await kube.request('POST', '/api/v1/namespaces/shop/pods', {
    body: {
      metadata: { name, labels: { app: name }, annotations },
      spec: { nodeName: NODE, containers: [{ name: 'app', image: 'app' }] },
    },
  })
  const container = { name: 'app', image: 'app', imageID: '', restartCount: 0, ready: true }
  const containerStatuses = [{ ...container, containerID: `process://${pid}`, state: { running: {} } }]
  const status = { phase: 'Running', podIP: '127.0.0.1', containerStatuses }
  await kube.request('PATCH', `/api/v1/namespaces/shop/pods/${name}/status`, { body: { status }, contentType: MERGE })
}
