// What the CRDs of the group chaos take and refuse by themselves, without a webhook. Source: spec/chaos.md 1.2 to 1.6, and of 4.2 what a schema can say.

import { readdir, readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest'
import { parse } from 'yaml'

import { type KubeObject, resourcePath } from '../../activities/kube/client.ts'
import { disruptionKind } from '../../workflows/chaos/disruption/kind.ts'
import type { Kind } from '../../workflows/kit/index.ts'
import { Cluster } from '../support/cluster.ts'

const FOLDER = fileURLToPath(new URL('../../deploy/crds/chaos/', import.meta.url))
const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'

const cluster = new Cluster(inject('servers').kubeconfigPath, 'chaos-crds')
const { kube } = cluster

beforeAll(async () => {
  await cluster.createNamespace()
  for (const file of await readdir(FOLDER)) {
    const body = parse(await readFile(FOLDER + file, 'utf8')) as KubeObject
    await kube.request('POST', DEFINITIONS, { body })
    await vi.waitFor(
      async () => {
        const { status } = await kube.request<Defined>('GET', `${DEFINITIONS}/${body.metadata.name}`)
        expect(status?.conditions).toContainEqual(expect.objectContaining({ type: 'Established', status: 'True' }))
      },
      { timeout: 20_000 },
    )
  }
})
afterAll(() => kube.close())

interface Defined {
  readonly status?: { readonly conditions?: readonly object[] }
}

async function create({ apiVersion, plural, kind }: Kind, spec: object): Promise<string> {
  const body = { apiVersion, kind, metadata: { name: 'one' }, spec }
  return await kube
    .request('POST', resourcePath({ apiVersion, plural }, cluster.namespace), {
      ...{ body, query: { dryRun: 'All', fieldValidation: 'Strict' } },
    })
    .then(() => 'taken', String)
}

const drop = { network: { drop: 10 } }
const disrupting = (more: object) => ({ count: 1, selector: { app: 'demo' }, ...more })

const TAKEN: readonly object[] = [
  disrupting(drop),
  disrupting({ ...drop, count: '100%', duration: '1h0m0s' }),
  disrupting({ ...drop, count: '1%', duration: 60_000_000_000 }),
  disrupting({ ...drop, level: '', duration: '' }),
  disrupting({ ...drop, pulse: { activeDuration: '1m', dormantDuration: '30s', initialDelay: '.5s' } }),
  disrupting({ ...drop, triggers: { createPods: { offset: '1m' }, inject: { notBefore: '2030-01-01T00:00:00Z' } } }),
  disrupting({ network: { bandwidthLimit: 32, hosts: [{ host: 'a.example', flow: 'ingress', connState: 'NEW' }] } }),
  disrupting({
    network: { delay: 60_000, hosts: [{ port: 80, flow: 'egress' }], http: { methods: ['get'], paths: ['/'] } },
  }),
  disrupting({ network: { drop: 1, services: [{ name: 'a', namespace: 'b', ports: [{ port: 80, name: 'http' }] }] } }),
  disrupting({ network: { drop: 1, cloud: { aws: [{ service: 'S3' }] } } }),
  disrupting({ cpuPressure: {}, memoryPressure: { targetPercent: '76%', rampDuration: '10m' } }),
  disrupting({ cpuPressure: { count: 2 }, memoryPressure: { targetPercent: 76 } }),
  disrupting({ diskPressure: { path: '/data', throttling: { readBytesPerSec: 1024 } } }),
  disrupting({ diskFailure: { paths: ['/a'], probability: '50%', openat: { exitCode: 'ENOSPC' } } }),
  disrupting({ dns: { records: [{ hostname: 'a.example', record: { type: 'A', value: '1.2.3.4', ttl: 5 } }] } }),
  disrupting({ grpc: { port: 50051, endpoints: [{ endpoint: '/p.S/M', error: 'UNAVAILABLE', queryPercent: 25 }] } }),
  disrupting({ podReplacement: { gracePeriodSeconds: 0 } }),
  disrupting({ nodeFailure: { shutdown: true }, level: 'node' }),
  disrupting({ ...drop, unsafeMode: { config: { countTooLarge: { clusterThreshold: 1 } } } }),
  disrupting({ ...drop, reporting: { slackChannel: 'team-a', purpose: 'a game day', minNotificationType: 'Info' } }),
]

const REFUSED: readonly (readonly [string, object])[] = [
  ['spec.count', { ...drop, count: 0 }],
  ['spec.count', { ...drop, count: -1 }],
  ['spec.count', { ...drop, count: '0%' }],
  ['spec.count', { ...drop, count: '101%' }],
  ['spec.count', { ...drop, count: 'abc' }],
  ['spec.count', { ...drop, count: '5' }],
  ['spec.level', { ...drop, level: 'cluster' }],
  ['spec.duration', { ...drop, duration: 'soon' }],
  ['spec.maxRuns', { ...drop, maxRuns: 0 }],
  ['spec.pulse', { ...drop, pulse: { activeDuration: '1m' } }],
  ['spec.triggers.inject', { ...drop, triggers: { inject: { notBefore: '2030-01-01T00:00:00Z', offset: '1s' } } }],
  ['spec.network.bandwidthLimit', { network: { bandwidthLimit: 31 } }],
  ['spec.network.drop', { network: { drop: 101 } }],
  ['spec.network.delay', { network: { delay: 60_001 } }],
  ['spec.network.hosts[0]', { network: { drop: 1, hosts: [{ flow: 'ingress' }] } }],
  ['spec.network.hosts[0].connState', { network: { drop: 1, hosts: [{ host: 'a', connState: 'old' }] } }],
  ['spec.network.http.methods', { network: { drop: 1, http: { methods: Array(10).fill('GET') } } }],
  ['spec.memoryPressure.targetPercent', { memoryPressure: { targetPercent: '0%' } }],
  ['spec.memoryPressure.targetPercent', { memoryPressure: { targetPercent: 101 } }],
  ['spec.diskFailure.paths', { diskFailure: { paths: [] } }],
  ['spec.diskFailure.probability', { diskFailure: { paths: ['/a'], probability: '0%' } }],
  ['spec.grpc.endpoints[0].error', { grpc: { port: 1, endpoints: [{ endpoint: '/p.S/M', error: 'BROKEN' }] } }],
  ['spec.dns.records', { dns: { records: [] } }],
  ['spec.unsafeMode.config.countTooLarge', { ...drop, unsafeMode: { config: { countTooLarge: {} } } }],
  ['spec.reporting.purpose', { ...drop, reporting: { purpose: 'short' } }],
]

describe('the CRD of Disruptions', () => {
  it.each(TAKEN)('takes %j', async (spec) => {
    expect(await create(disruptionKind, spec)).toBe('taken')
  })

  it.each(REFUSED)('refuses %s of %j', async (field, spec) => {
    expect(await create(disruptionKind, disrupting(spec))).toContain(` is refused: ${field}: `)
  })

  it('does not know fields that it does not have', async () => {
    expect(await create(disruptionKind, disrupting({ ...drop, jitter: 1 }))).toContain('spec.jitter')
  })
})
