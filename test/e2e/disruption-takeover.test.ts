// What a chaos-controller has begun goes on with Pawl: its Disruptions and chaos pods have the shape that it gives them (spec/chaos.md 1.7, 2.4, 2.5).

import { beforeAll, describe, expect, it, vi } from 'vitest'

import type { KubeObject } from '../../activities/kube/client.ts'
import { CHAOS_POD_FINALIZER, FINALIZER } from '../../workflows/chaos/contract.ts'
import { type ChaosPodObject, ChaosKubelet } from '../support/chaos/kubelet.ts'
import { CHAOS, PATIENT, useChaos } from '../support/chaos/tenants.ts'

const CHAOS_PODS = '/api/v1/namespaces/chaos-engineering/pods'
const MERGE = 'application/merge-patch+json'
const KINDS = ['network-disruption', 'cpu-pressure'] as const

const chaos = useChaos('disruption-takeover', ['shop'])
const shop = () => chaos.of('shop')
let kubelet: ChaosKubelet
// Here, for it counts for the tests that are found after it.
beforeAll(async () => {
  kubelet = new ChaosKubelet(shop().cluster.kube)
  await shop().makeNode('n1')
})

/** While no worker of Pawl runs: a Disruption of one target, which chaos-controller has injected. */
async function begunByOther(name: string): Promise<{ made: KubeObject; pods: readonly ChaosPodObject[] }> {
  const { kube } = shop().cluster
  for (const one of [name, `${name}-spare`]) await shop().runPod(one, { labels: { app: name }, node: 'n1' })
  const made = await shop().cluster.create(
    {
      ...{ apiVersion: CHAOS, kind: 'Disruption', metadata: { name, finalizers: [FINALIZER] } },
      spec: { selector: { app: name }, count: 1, duration: '1h', network: { drop: 30 }, cpuPressure: {} },
    },
    'disruptions',
  )
  const pods: KubeObject[] = []
  for (const kind of KINDS) {
    const labels = { target: name, 'disruption-kind': kind, 'disruption-name': name, 'disruption-namespace': 'shop' }
    const named = Object.entries(labels).map(([label, value]) => [`chaos.datadoghq.com/${label}`, value])
    const metadata = {
      ...{ generateName: `chaos-${name}-`, labels: Object.fromEntries(named) as object },
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
    ...{ injectionStatus: 'Injected', runCount: 1, selectedTargetsCount: 1, ignoredTargetsCount: 1 },
    ...{ injectedTargetsCount: 1, desiredTargetsCount: 1 },
    targetInjections: { [name]: Object.fromEntries(KINDS.map((kind, at) => [kind, injection(pods[at]!)])) },
  }
  const path = `/apis/${CHAOS}/namespaces/shop/disruptions/${name}/status`
  await kube.request('PATCH', path, { body: { status }, contentType: MERGE })
  return { made, pods: await kubelet.pods(made) }
}

const uidsOf = (pods: readonly KubeObject[]) => pods.map(({ metadata }) => metadata.uid).sort()

describe('a Disruption that chaos-controller has begun', () => {
  it('goes on as it is: its targets and chaos pods stay, nothing is injected again, and all ends when it is deleted', async () => {
    await chaos.tenants.pawl.kill('worker')
    const { made, pods } = await begunByOther('running')
    await chaos.tenants.pawl.startWorker()
    await vi.waitFor(async () => expect((await shop().status('running')).specHash).toBeDefined(), PATIENT)
    await shop().until('running', { injectionStatus: 'Injected', targets: ['running'], runCount: 1 })
    expect(uidsOf(await kubelet.pods(made))).toEqual(uidsOf(pods))
    const reasons = await shop().reasons('Disruption', 'running')
    expect([reasons.includes('TakenOver'), reasons.includes('ChaosPodCreated')]).toEqual([true, false])
    for (const { metadata } of await kubelet.pods(made))
      expect(metadata.labels?.['pawl.dev/owner-uid']).toBe(made.metadata.uid)
    // Its events are heard.
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

  it('and that is being deleted is cleaned in order, also what could not clean', async () => {
    await chaos.tenants.pawl.kill('worker')
    const { made, pods } = await begunByOther('going')
    const [failed, other] = pods
    await kubelet.exit(failed!, 1)
    await shop().remove('going')
    await chaos.tenants.pawl.startWorker()
    await shop().until('going', { isStuckOnRemoval: true })
    await kubelet.end(other!)
    await kubelet.release(failed!)
    await kubelet.bury(failed!)
    await shop().gone('going')
    expect(await kubelet.pods(made)).toEqual([])
  })
})
