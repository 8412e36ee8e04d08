// Tests Disruptions that several controllers handle: two workers at the same time, a worker that dies, and a worker that takes over from chaos-controller.
// Source: spec/chaos.md 2.15 (metrics); 1.7, 2.4, 2.5 (the shape that chaos-controller gives to Disruptions and chaos pods).

import { beforeAll, describe, expect, it, vi } from 'vitest'

import type { KubeObject } from '../../activities/kube/client.ts'
import { CHAOS_POD_FINALIZER, FINALIZER } from '../../workflows/chaos/contract.ts'
import { type ChaosPodObject, ChaosKubelet } from '../support/chaos/kubelet.ts'
import { metricsOf, type Scraped, valueOf } from '../support/pawl/scrape.ts'
import { CHAOS, PATIENT, SHORT_TIMEOUTS, useChaos } from '../support/chaos/tenants.ts'

const CHAOS_PODS = '/api/v1/namespaces/chaos-engineering/pods'
const MERGE = 'application/merge-patch+json'
const KINDS = ['network-disruption', 'cpu-pressure'] as const
const WORKERS = ['worker', 'second']

const chaos = useChaos('disruption-workers', ['shop'], undefined, { workerFlags: SHORT_TIMEOUTS })
const shop = () => chaos.of('shop')
let kubelet: ChaosKubelet
beforeAll(async () => {
  kubelet = new ChaosKubelet(shop().cluster.kube)
  await shop().makeNode('n1')
  await chaos.tenants.pawl.startWorker('second')
})

const scraped = async (): Promise<readonly Scraped[]> =>
  await Promise.all(WORKERS.map(async (name) => await metricsOf(chaos.tenants.pawl.log(name))))

/** Returns the sum of a counter over all workers. */
async function sum(name: string, labels = ''): Promise<number> {
  return (await scraped()).reduce((all, one) => all + (valueOf(one, name, labels) ?? 0), 0)
}

/** Returns a gauge of each worker. */
async function each(name: string): Promise<readonly (number | undefined)[]> {
  return (await scraped()).map((one) => valueOf(one, name))
}

/** Creates a Disruption of one target in the state that chaos-controller leaves after the injection. No worker of Pawl may run. */
async function createAsChaosController(name: string): Promise<{ made: KubeObject; pods: readonly ChaosPodObject[] }> {
  const { kube } = shop().cluster
  for (const one of [name, `${name}-spare`]) await shop().runPod(one, { labels: { app: name }, node: 'n1' })
  const made = await shop().cluster.create(
    {
      apiVersion: CHAOS,
      kind: 'Disruption',
      metadata: { name, finalizers: [FINALIZER] },
      spec: { selector: { app: name }, count: 1, duration: '1h', network: { drop: 30 }, cpuPressure: {} },
    },
    'disruptions',
  )
  const pods: KubeObject[] = []
  for (const kind of KINDS) {
    const labels = { target: name, 'disruption-kind': kind, 'disruption-name': name, 'disruption-namespace': 'shop' }
    const named = Object.entries(labels).map(([label, value]) => [`chaos.datadoghq.com/${label}`, value])
    const metadata = {
      generateName: `chaos-${name}-`,
      labels: Object.fromEntries(named) as object,
      finalizers: [CHAOS_POD_FINALIZER],
    }
    const spec = { nodeName: 'n1', restartPolicy: 'Never', containers: [{ name: 'injector', image: 'chaos-injector' }] }
    const pod = await kube.request<KubeObject>('POST', CHAOS_PODS, { body: { metadata, spec } })
    await kubelet.ready(pod)
    pods.push(pod)
  }
  const since = '2026-01-01T00:00:00Z'
  const injection = (pod: KubeObject) => ({ injectorPodName: pod.metadata.name, injectionStatus: 'Injected', since })
  const status = {
    injectionStatus: 'Injected',
    runCount: 1,
    selectedTargetsCount: 1,
    ignoredTargetsCount: 1,
    injectedTargetsCount: 1,
    desiredTargetsCount: 1,
    targetInjections: { [name]: Object.fromEntries(KINDS.map((kind, at) => [kind, injection(pods[at]!)])) },
  }
  const path = `/apis/${CHAOS}/namespaces/shop/disruptions/${name}/status`
  await kube.request('PATCH', path, { body: { status }, contentType: MERGE })
  return { made, pods: await kubelet.pods(made) }
}

const uidsOf = (pods: readonly KubeObject[]) => pods.map(({ metadata }) => metadata.uid).sort()

describe('two workers that serve Disruptions', () => {
  it('count each action once in the sum of their counters, and show equal gauges', async () => {
    const names = ['one', 'two', 'three', 'four']
    for (const name of names) await shop().runPod(name, { labels: { app: name }, node: 'n1' })
    const spec = { count: 1, duration: '10m', cpuPressure: {}, memoryPressure: { targetPercent: '50%' } }
    const made = await Promise.all(
      names.map(async (name) => await shop().disrupt(name, { ...spec, selector: { app: name } })),
    )
    for (const one of made) for (const pod of await kubelet.untilPods(one, 2)) await kubelet.ready(pod)
    for (const name of names) await shop().until(name, { injectionStatus: 'Injected' })
    const ofShop = `namespace="${shop().cluster.namespace}"`
    await vi.waitFor(async () => {
      expect(await sum('chaos_controller_pods_created', `${ofShop},status="succeed"`)).toBe(8)
      expect(await sum('chaos_controller_inject_duration_count')).toBe(4)
      expect(await each('chaos_controller_disruptions_gauge')).toEqual([4, 4])
      expect(await each('chaos_controller_pods_gauge')).toEqual([8, 8])
      expect(await each('chaos_controller_disruptions_stuck_on_removal_total')).toEqual([0, 0])
    }, PATIENT)
    expect(await each('chaos_controller_restart')).toEqual([1, 1])
    expect(await sum('chaos_controller_reconcile')).toBeGreaterThanOrEqual(4)
    expect(await sum('chaos_controller_reconcile_duration_count')).toBeGreaterThanOrEqual(4)
    const [first] = await scraped()
    expect(
      valueOf(first ?? '', 'chaos_controller_disruption_ongoing_duration', `${ofShop},name="one"`),
    ).toBeGreaterThan(0)

    const [stuck] = await kubelet.pods(made[0])
    await kubelet.exit(stuck!, 1)
    for (const name of names) await shop().remove(name)
    await shop().until('one', { isStuckOnRemoval: true })
    await vi.waitFor(async () => {
      expect(await sum('chaos_controller_disruptions_stuck_on_removal', ofShop)).toBe(1)
      expect(await each('chaos_controller_disruptions_stuck_on_removal_total')).toEqual([1, 1])
    }, PATIENT)
    await kubelet.release(stuck!)
    await vi.waitFor(async () => {
      for (const one of made) for (const pod of await kubelet.pods(one)) await kubelet.end(pod)
      for (const name of names)
        expect(await shop().cluster.get('disruptions', name, 'chaos.datadoghq.com/v1beta1')).toBeUndefined()
    }, PATIENT)
    await vi.waitFor(async () => {
      expect(await sum('chaos_controller_disruptions_count', 'disruption_kind="cpu-pressure"')).toBe(4)
      expect(await sum('chaos_controller_disruptions_count', 'disruption_kind="memory-pressure"')).toBe(4)
      expect(await sum('chaos_controller_cleanup_duration_count')).toBe(4)
      expect(await sum('chaos_controller_disruption_completed_duration_count')).toBe(4)
      expect(await each('chaos_controller_disruptions_gauge')).toEqual([0, 0])
      expect(await each('chaos_controller_pods_gauge')).toEqual([0, 0])
    }, PATIENT)
  })

  it('create each chaos pod once, and one of them completes the Disruptions when the other is killed', async () => {
    const names = Array.from({ length: 6 }, (_, index) => `shared-${index}`)
    const many = await Promise.all(
      names.map(async (name) => {
        await shop().runPod(name, { labels: { app: name }, node: 'n1' })
        return await shop().disrupt(name, { selector: { app: name }, count: '100%', network: { drop: 30 } })
      }),
    )
    await chaos.tenants.pawl.kill('worker')
    for (const made of many) {
      const [pod, ...more] = await kubelet.untilPods(made, 1)
      expect(more).toEqual([])
      await kubelet.ready(pod!)
      await shop().until(made.metadata.name, { injectionStatus: 'Injected', runCount: 1 })
    }
    for (const made of many) {
      await shop().finish(made, kubelet)
    }
  })
})

describe('a worker that starts', () => {
  type Begun = Awaited<ReturnType<typeof createAsChaosController>>
  let running: Begun
  let stuck: Begun
  beforeAll(async () => {
    for (const worker of WORKERS) await chaos.tenants.pawl.kill(worker)
    running = await createAsChaosController('running')
    stuck = await createAsChaosController('stuck')
    await kubelet.exit(stuck.pods[0]!, 1)
    await shop().remove('stuck')
    await chaos.tenants.pawl.startWorker()
  })

  it('takes over a Disruption from chaos-controller with its targets and chaos pods, and injects nothing again', async () => {
    const { made, pods } = running
    await vi.waitFor(async () => expect((await shop().status('running')).specHash).toBeDefined(), PATIENT)
    await shop().until('running', { injectionStatus: 'Injected', targets: ['running'], runCount: 1 })
    expect(uidsOf(await kubelet.pods(made))).toEqual(uidsOf(pods))
    const reasons = await shop().reasons('Disruption', 'running')
    expect([reasons.includes('TakenOver'), reasons.includes('ChaosPodCreated')]).toEqual([true, false])
    for (const { metadata } of await kubelet.pods(made))
      expect(metadata.labels?.['pawl.dev/owner-uid']).toBe(made.metadata.uid)
    // The worker observes the chaos pods.
    await kubelet.ready(pods[0]!, false)
    await shop().until('running', { injectionStatus: 'PartiallyInjected' })

    await shop().remove('running')
    await vi.waitFor(async () => {
      for (const { metadata } of await kubelet.pods(made)) expect(metadata.deletionTimestamp).toBeDefined()
    }, PATIENT)
    for (const pod of pods) await kubelet.end(pod)
    await shop().gone('running')
    expect(await kubelet.pods(made)).toEqual([])
  })

  it('takes over the clean-up of a Disruption from chaos-controller, and reports the chaos pod that failed to clean up', async () => {
    const { made, pods } = stuck
    const [failed, other] = pods
    await shop().until('stuck', { isStuckOnRemoval: true })
    await kubelet.end(other!)
    await kubelet.release(failed!)
    await kubelet.bury(failed!)
    await shop().gone('stuck')
    expect(await kubelet.pods(made)).toEqual([])
  })
})
