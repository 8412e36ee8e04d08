// A load of Disruptions, each of one pod. The node agent simulates the injectors (`pawl node-agent --play ready`), so the load measures the controller and
// the servers.

import { setTimeout as sleep } from 'node:timers/promises'

import { resourcePath } from '../../../activities/kube/resource-path.ts'
import { startPart } from '../../../worker/dev/part.ts'
import type { Servers } from '../../../worker/dev/servers.ts'
import { CHAOS_NAMESPACE } from '../../../workflows/chaos/config.ts'
import { disruptionKind } from '../../../workflows/chaos/disruption/kind.ts'
import { createAll, listAll, type Place, type Plan, type Subject } from './subject.ts'

const PODS = { apiVersion: 'v1', plural: 'pods' }
const NODES = ['node-1', 'node-2', 'node-3']
const LIMIT_MS = 300_000
const POLL_MS = 500

export const disruptions: Subject = {
  resource: disruptionKind,
  operations: ['create', 'delete'],
  async prepare(place, { items }) {
    const [namespace = ''] = place.namespaces
    await createAll(place.kube, resourcePath(PODS, namespace), Array.from({ length: items }, podBody))
    const deadline = performance.now() + LIMIT_MS
    while ((await runningPods(place)) < items) {
      if (performance.now() > deadline) throw new Error(`pods of ${namespace}: not all run after ${LIMIT_MS} ms`)
      await sleep(POLL_MS)
    }
  },
  body: (_plan, index, namespace) => ({
    apiVersion: disruptionKind.apiVersion,
    kind: disruptionKind.kind,
    metadata: { name: `disruption-${index}`, namespace },
    spec: {
      selector: { app: `pod-${index}` },
      count: 1,
      duration: '1h',
      network: { drop: 30, hosts: [{ host: '10.0.0.0/8', port: 80, protocol: 'tcp' }] },
    },
  }),
  endOf(operation, { status }, { isDeleted }) {
    if (isDeleted) return operation === 'delete' ? 'succeeded' : 'failed'
    return operation === 'create' && status?.['injectionStatus'] === 'Injected' ? 'succeeded' : undefined
  },
  async counts(place, { objects }: Plan, { operation }) {
    const expected = operation === 'delete' ? 0 : objects
    const chaosPods = await listAll({ ...place, namespaces: [CHAOS_NAMESPACE] }, PODS)
    return [
      ['disruptions', (await listAll(place, disruptionKind)).length, expected],
      ['chaos pods', chaosPods.length, expected],
    ]
  },
}

async function runningPods(place: Place): Promise<number> {
  return (await listAll(place, PODS)).filter(({ status }) => status?.phase === 'Running').length
}

function podBody(_: unknown, index: number): object {
  const spec = { nodeName: NODES[index % NODES.length], containers: [{ name: 'app', image: 'example/app:1' }] }
  return { metadata: { name: `pod-${index}`, labels: { app: `pod-${index}` } }, spec }
}

/** Restarts the node agent in a mode in which chaos pods are ready at once and disturb nothing. */
export async function simulateInjectors(servers: Servers): Promise<void> {
  const agent = servers.parts.find(({ spec }) => spec.name === 'node-agent')
  if (agent === undefined) throw new Error('the set has no node-agent, expected one with the wing chaos')
  await servers.drop(agent)
  const args = [...agent.spec.args, '--play', 'ready']
  // The simulating agent reports no readiness.
  const isReady = () => Promise.resolve(true)
  await startPart({ ...agent.spec, args, isReady }, (part) => servers.add(part))
}
