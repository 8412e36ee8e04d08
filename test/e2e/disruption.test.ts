// Disruptions on real servers, from kubectl's side and from that of the chaos pods, which the test plays. Acceptance scenarios: spec/chaos.md 4.3.

import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { parse } from 'yaml'

import type { KubeObject, ObjectList } from '../../activities/kube/client.ts'
import { resourcePath } from '../../activities/kube/resource-path.ts'
import {
  CHAOS_POD_FINALIZER,
  DISRUPTION_KIND_LABEL,
  EMERGENCY_STOP_ANNOTATION,
  FINALIZER,
  kindNamesOf,
} from '../../workflows/chaos/contract.ts'
import type { DisruptionSpec, DisruptionStatus } from '../../workflows/chaos/disruption/kind.ts'
import { ChaosKubelet, keyOf } from '../support/chaos/kubelet.ts'
import { configFile } from '../support/chaos/config-file.ts'
import type { LsObject } from '../support/cluster.ts'
import { useTenants } from '../support/tenants.ts'

const CHAOS = 'chaos.datadoghq.com/v1beta1'
const PATIENT = { timeout: 60_000, interval: 50 }
const folder = mkdtempSync(join(tmpdir(), 'pawl-disruption-'))
afterAll(() => {
  rmSync(folder, { recursive: true })
})

const EXAMPLE_FOLDER = new URL('../../examples/chaos/', import.meta.url).pathname
const EXAMPLES = readdirSync(EXAMPLE_FOLDER).filter((file) =>
  /^kind: Disruption$/m.test(readFileSync(join(EXAMPLE_FOLDER, file), 'utf8')),
)
const ofBoth = ['--wings', 'chaos', '--content-key', join(folder, 'content.key')]
const tenants = useTenants('disruption', ['shop'], undefined, {
  wings: ['chaos'],
  bridgeFlags: ofBoth,
  workerFlags: [...ofBoth, '--chaos-config', configFile(folder, { controller: { finalizerDeletionDelay: '0s' } })],
})
const shop = () => tenants.of('shop')
let kubelet: ChaosKubelet
beforeAll(async () => {
  vi.setConfig({ testTimeout: 90_000 })
  kubelet = new ChaosKubelet(shop().kube)
  for (const name of ['n1', 'n2']) await makeNode(name)
  for (const name of ['shop-1', 'shop-2']) await run(name, { app: 'shop' }, 'n1')
})

describe('a Disruption', () => {
  it('makes a chaos pod for each target and kind, is injected when they are ready, and undone when it is deleted', async () => {
    await run('web-1', { app: 'web' }, 'n1')
    await run('web-2', { app: 'web' }, 'n2')
    await run('other', { app: 'other' }, 'n1')
    const made = await disrupt('both', {
      ...{ selector: { app: 'web' }, count: 2, duration: '10m' },
      ...{ network: { drop: 30 }, cpuPressure: {}, memoryPressure: { targetPercent: '50%' } },
    })
    const pods = await vi.waitFor(async () => {
      const found = await kubelet.pods(made)
      expect(found).toHaveLength(6)
      return found
    }, PATIENT)
    expect(pods.map(keyOf)).toEqual([
      ...['cpu-pressure web-1', 'cpu-pressure web-2', 'memory-pressure web-1', 'memory-pressure web-2'],
      ...['network-disruption web-1', 'network-disruption web-2'],
    ])
    for (const pod of pods) {
      expect(pod.metadata.finalizers).toEqual([CHAOS_POD_FINALIZER])
      expect(pod.spec.nodeName).toBe(keyOf(pod).endsWith('web-1') ? 'n1' : 'n2')
    }
    expect((await get('both')).metadata.finalizers).toEqual([FINALIZER])
    expect(await status('both')).toMatchObject({
      ...{ injectionStatus: 'NotInjected', targets: ['web-1', 'web-2'], runCount: 1 },
      ...{ selectedTargetsCount: 2, desiredTargetsCount: 2, injectedTargetsCount: 0, ignoredTargetsCount: 0 },
    })

    for (const pod of pods.slice(0, 2)) await kubelet.ready(pod)
    await until('both', { injectionStatus: 'PartiallyInjected', injectedTargetsCount: 0 })
    for (const pod of pods.slice(2)) await kubelet.ready(pod)
    await until('both', { injectionStatus: 'Injected', injectedTargetsCount: 2 })
    expect(await reasons('Disruption', 'both')).toEqual([...Array<string>(6).fill('ChaosPodCreated')])
    expect(await reasons('Pod', 'web-1')).toEqual(Array<string>(3).fill('Disrupted'))
    expect(await reasons('Pod', 'other')).toEqual([])

    await remove('both')
    await until('both', { injectionStatus: 'PreviouslyInjected' })
    await vi.waitFor(async () => {
      for (const { metadata } of await kubelet.pods(made)) expect(metadata.deletionTimestamp).toBeDefined()
    }, PATIENT)
    for (const pod of pods) await end(pod)
    await gone('both')
    expect(await reasons('Disruption', 'both')).toEqual(expect.arrayContaining(['Cleaned', 'Finished']))
    expect(await kubelet.pods(made)).toEqual([])
  })

  it('is stuck while a chaos pod could not clean up, and goes on by itself when somebody has taken that away', async () => {
    await run('stuck-1', { app: 'stuck' }, 'n1')
    const made = await disrupt('stuck', { selector: { app: 'stuck' }, count: 1, network: { drop: 30 } })
    const [pod] = await podsOf(made, 1)
    await kubelet.ready(pod!)
    await until('stuck', { injectionStatus: 'Injected' })
    await kubelet.exit(pod!, 1)
    await remove('stuck')
    await until('stuck', { isStuckOnRemoval: true })
    expect(await reasons('Disruption', 'stuck')).toContain('StuckOnRemoval')
    expect((await status('stuck')).targetInjections?.['stuck-1']?.['network-disruption']).toMatchObject({
      injectionStatus: 'IsStuckOnRemoval',
    })
    await kubelet.release(pod!)
    await kubelet.bury(pod!)
    await gone('stuck')
  })

  it('follows its targets: those that come are taken, those that go are let go of, and count may change', async () => {
    await run('dyn-1', { app: 'dyn' }, 'n1')
    const made = await disrupt('dyn', { selector: { app: 'dyn' }, count: 2, network: { drop: 30 } })
    const [first] = await podsOf(made, 1)
    await kubelet.ready(first!)
    await until('dyn', { injectionStatus: 'PartiallyInjected', desiredTargetsCount: 2, selectedTargetsCount: 1 })
    await run('dyn-2', { app: 'dyn' }, 'n2')
    const both = await podsOf(made, 2)
    for (const pod of both) await kubelet.ready(pod)
    await until('dyn', { injectionStatus: 'Injected', selectedTargetsCount: 2 })
    await shop().kube.request('PATCH', path('dyn'), {
      ...{ body: { spec: { count: 1 } }, contentType: 'application/merge-patch+json' },
    })
    await vi.waitFor(async () => {
      const going = (await kubelet.pods(made)).filter(({ metadata }) => metadata.deletionTimestamp !== undefined)
      expect(going).toHaveLength(1)
    }, PATIENT)
    const [surplus] = (await kubelet.pods(made)).filter(({ metadata }) => metadata.deletionTimestamp !== undefined)
    await end(surplus!)
    await until('dyn', { injectionStatus: 'Injected', selectedTargetsCount: 1, ignoredTargetsCount: 1 })
    await remove('dyn')
    for (const pod of await kubelet.pods(made)) await end(pod)
    await gone('dyn')
  })

  it('says what it cannot find, and leaves alone what another one disturbs', async () => {
    const none = await disrupt('none', { selector: { app: 'nobody' }, count: 1, network: { drop: 30 } })
    await vi.waitFor(async () => expect(await reasons('Disruption', 'none')).toEqual(['NoTargetsFound']), PATIENT)
    expect(await kubelet.pods(none)).toEqual([])
    await run('taken-1', { app: 'taken' }, 'n1')
    const one = await disrupt('one', { selector: { app: 'taken' }, count: '100%', network: { drop: 30 } })
    await podsOf(one, 1)
    const two = await disrupt('two', { selector: { app: 'taken' }, count: 1, network: { drop: 10 } })
    await vi.waitFor(async () => expect(await reasons('Disruption', 'two')).toEqual(['NoMoreTargets']), PATIENT)
    expect(await kubelet.pods(two)).toEqual([])
    const three = await disrupt('three', {
      ...{ selector: { app: 'taken' }, count: 1, allowDisruptedTargets: true, cpuPressure: {} },
    })
    await podsOf(three, 1)
    for (const name of ['none', 'one', 'two', 'three']) await remove(name)
    for (const made of [one, three]) for (const pod of await kubelet.pods(made)) await end(pod)
    for (const name of ['none', 'one', 'two', 'three']) await gone(name)
  })

  it('ends where everything is to stop, and begins nothing there until that is lifted', async () => {
    await run('stopped-1', { app: 'stopped' }, 'n1')
    const before = await disrupt('stopped', { selector: { app: 'stopped' }, count: 1, network: { drop: 30 } })
    const [pod] = await podsOf(before, 1)
    await kubelet.ready(pod!)
    await until('stopped', { injectionStatus: 'Injected' })
    await annotate({ [EMERGENCY_STOP_ANNOTATION]: 'too many alerts' })
    await vi.waitFor(async () => expect((await get('stopped')).metadata.deletionTimestamp).toBeDefined(), PATIENT)
    await end(pod!)
    await gone('stopped')
    const meanwhile = await disrupt('meanwhile', { selector: { app: 'stopped' }, count: 1, network: { drop: 30 } })
    await gone('meanwhile')
    expect(await kubelet.pods(meanwhile)).toEqual([])
    expect(await reasons('Disruption', 'meanwhile')).toContain('EmergencyStop')
    await annotate({ [EMERGENCY_STOP_ANNOTATION]: null })
    const after = await disrupt('lifted', { selector: { app: 'stopped' }, count: 1, network: { drop: 30 } })
    await podsOf(after, 1)
    await remove('lifted')
    for (const one of await kubelet.pods(after)) await end(one)
    await gone('lifted')
  })

  it('disturbs nodes that are ready, when it is asked to, and draws them once with static targeting', async () => {
    const spec = { level: 'node', staticTargeting: true, count: '100%', cpuPressure: {}, selector: { disk: 'fast' } }
    await label('n1', { disk: 'fast' })
    const made = await disrupt('nodes', spec)
    const [pod] = await podsOf(made, 1)
    expect(pod?.spec.nodeName).toBe('n1')
    expect(pod?.spec.containers[0]?.args.slice(0, 7)).toEqual([
      ...['cpu-pressure', '--count', '100%', '--metrics-sink', 'noop', '--level', 'node'],
    ])
    await kubelet.ready(pod!)
    await until('nodes', { injectionStatus: 'Injected', targets: ['n1'] })
    await remove('nodes')
    await end(pod!)
    await gone('nodes')
  })

  it.each(EXAMPLES)('has an example, %s, that does what it says', async (file) => {
    const example = parse(await readFile(join(EXAMPLE_FOLDER, file), 'utf8')) as KubeObject & { spec: DisruptionSpec }
    const { name } = example.metadata
    const isLater = example.spec.triggers !== undefined
    const made = await shop().create(example as LsObject & { apiVersion: string }, 'disruptions')
    await vi.waitFor(async () => {
      const pods = await kubelet.pods(made)
      const does = pods.map(({ metadata }) => metadata.labels?.[DISRUPTION_KIND_LABEL])
      expect(new Set(does)).toEqual(new Set(isLater ? [] : kindNamesOf(example.spec)))
      expect((await status(name)).injectionStatus).toBe('NotInjected')
    }, PATIENT)
    for (const pod of await kubelet.pods(made)) await kubelet.ready(pod)
    if (!isLater) await until(name, { injectionStatus: 'Injected' })
    await remove(name)
    for (const pod of await kubelet.pods(made)) await end(pod)
    await gone(name)
  })

  // Source: spec/chaos.md 8.5, X2.
  it('makes no chaos pod twice, and undoes all, when its workers are killed in the middle', async () => {
    const names = Array.from({ length: 8 }, (_, index) => `many-${index}`)
    for (const name of names) await run(name, { app: 'many' }, 'n1')
    const spec = { selector: { app: 'many' }, count: '100%', network: { drop: 30 }, cpuPressure: {} }
    const made = await disrupt('many', spec)
    const seen = new Map<string, string>()
    const look = async () => {
      const pods = await kubelet.pods(made)
      for (const pod of pods) {
        expect(seen.get(keyOf(pod)) ?? pod.metadata.uid).toBe(pod.metadata.uid)
        seen.set(keyOf(pod), pod.metadata.uid ?? '')
      }
      return pods.length
    }
    for (const atLeast of [1, 9, 16]) {
      await vi.waitFor(async () => expect(await look()).toBeGreaterThanOrEqual(atLeast), { ...PATIENT, interval: 5 })
      await tenants.pawl.kill('worker')
      await tenants.pawl.startWorker()
    }
    expect(await look()).toBe(16)
    for (const pod of await kubelet.pods(made)) await kubelet.ready(pod)
    await until('many', { injectionStatus: 'Injected', injectedTargetsCount: 8, runCount: 1 })
    await remove('many')
    await tenants.pawl.kill('worker')
    for (const pod of await kubelet.pods(made)) await kubelet.exit(pod, 0)
    await tenants.pawl.startWorker()
    await vi.waitFor(async () => {
      for (const pod of await kubelet.pods(made))
        if (pod.metadata.deletionTimestamp !== undefined) await kubelet.bury(pod)
      expect(await shop().get('disruptions', 'many', CHAOS)).toBeUndefined()
    }, PATIENT)
    expect(await kubelet.pods(made)).toEqual([])
  })

  it('is over when its time is, and says how much it was', async () => {
    await run('short-1', { app: 'short' }, 'n1')
    const made = await disrupt('short', { selector: { app: 'short' }, count: 1, duration: '6s', network: { drop: 30 } })
    const [pod] = await podsOf(made, 1)
    await kubelet.ready(pod!)
    await until('short', { injectionStatus: 'Injected' })
    await kubelet.exit(pod!, 0)
    await until('short', { injectionStatus: 'PreviouslyInjected' })
    expect(await reasons('Disruption', 'short')).toContain('DurationOver')
    await remove('short')
    await gone('short')
  })
})

const path = (name: string, subresource?: string) =>
  resourcePath({ apiVersion: CHAOS, plural: 'disruptions' }, 'shop', name, subresource)

async function disrupt(name: string, spec: object): Promise<KubeObject> {
  return await shop().create({ apiVersion: CHAOS, kind: 'Disruption', metadata: { name }, spec }, 'disruptions')
}

async function get(name: string): Promise<LsObject> {
  const found = await shop().get('disruptions', name, CHAOS)
  if (found === undefined) throw new Error(`Disruption ${name} is gone`)
  return found
}

async function status(name: string): Promise<DisruptionStatus> {
  return ((await get(name)).status ?? {}) as DisruptionStatus
}

async function until(name: string, expected: Partial<DisruptionStatus>): Promise<void> {
  await vi.waitFor(async () => expect(await status(name)).toMatchObject(expected), PATIENT)
}

async function podsOf(disruption: KubeObject, count: number) {
  return await vi.waitFor(async () => {
    const found = await kubelet.pods(disruption)
    expect(found).toHaveLength(count)
    return found
  }, PATIENT)
}

/** The chaos pod cleans, completes, and is taken away by its node when the controller has let go of it. */
async function end(pod: KubeObject): Promise<void> {
  await kubelet.exit(pod, 0)
  await kubelet.bury(pod)
}

async function remove(name: string): Promise<void> {
  await shop().kube.request('DELETE', path(name))
}

async function gone(name: string): Promise<void> {
  await vi.waitFor(async () => expect(await shop().get('disruptions', name, CHAOS)).toBeUndefined(), PATIENT)
}

async function reasons(kind: string, name: string): Promise<readonly string[]> {
  const { items } = await shop().kube.request<ObjectList>('GET', '/api/v1/namespaces/shop/events')
  const events = items as readonly (KubeObject & { reason: string; involvedObject: { kind: string; name: string } })[]
  return events
    .filter(({ involvedObject }) => involvedObject.kind === kind && involvedObject.name === name)
    .map(({ reason }) => reason)
    .sort()
}

async function annotate(annotations: Record<string, string | null>): Promise<void> {
  await shop().kube.request('PATCH', '/api/v1/namespaces/shop', {
    ...{ body: { metadata: { annotations } }, contentType: 'application/merge-patch+json' },
  })
}

async function label(node: string, labels: Record<string, string>): Promise<void> {
  await shop().kube.request('PATCH', `/api/v1/nodes/${node}`, {
    ...{ body: { metadata: { labels } }, contentType: 'application/merge-patch+json' },
  })
}

async function makeNode(name: string): Promise<void> {
  const { kube } = shop()
  await kube.request('POST', '/api/v1/nodes', { body: { metadata: { name } } })
  const conditions = [{ type: 'Ready', status: 'True', lastHeartbeatTime: new Date().toISOString() }]
  await kube.request('PATCH', `/api/v1/nodes/${name}/status`, {
    ...{ body: { status: { conditions } }, contentType: 'application/merge-patch+json' },
  })
}

/** A pod that runs. */
async function run(name: string, labels: Record<string, string>, nodeName: string): Promise<void> {
  const { kube } = shop()
  const containers = [{ name: 'app', image: 'app' }]
  await kube.request('POST', '/api/v1/namespaces/shop/pods', {
    body: { metadata: { name, labels }, spec: { nodeName, containers } },
  })
  const state = { running: { startedAt: new Date().toISOString() } }
  const containerID = `containerd://${name}`
  await kube.request('PATCH', `/api/v1/namespaces/shop/pods/${name}/status`, {
    body: {
      status: {
        ...{ phase: 'Running', podIP: '10.0.0.1' },
        containerStatuses: [
          { name: 'app', image: 'app', imageID: '', restartCount: 0, ready: true, containerID, state },
        ],
      },
    },
    contentType: 'application/merge-patch+json',
  })
}
