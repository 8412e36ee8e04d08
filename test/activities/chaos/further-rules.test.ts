// The admission rules that need the configuration or the cluster, with an API server that returns prepared objects.

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { openAsyncRules } from '../../../activities/chaos/further-rules.ts'
import { DURATION_MUTATION } from '../../../workflows/chaos/disruption/rules/timing.ts'
import { disruptionKind } from '../../../workflows/chaos/disruption/kind.ts'
import { disruptionRolloutKind } from '../../../workflows/chaos/disruption-rollout/kind.ts'
import { disruptionCronKind } from '../../../workflows/chaos/disruption-cron/kind.ts'
import { TOLERANCE_MUTATION } from '../../../workflows/chaos/disruption-cron/rules/cron.ts'
import {
  type AdmissionRequest,
  type AsyncRules,
  type Kind,
  type ObjectReader,
  type Problem,
  problemText,
} from '../../../workflows/kit/index.ts'
import { configFile } from '../../support/chaos/config-file.ts'
import { specWith, DROP } from '../../workflows/chaos/disruption/spec-cases.ts'

const NEVER = new AbortController().signal
const HOSTS = { network: { drop: 10, hosts: [{ host: '10.0.0.0/8' }] } }
const STOP = 'chaos.datadoghq.com/emergency-stop'

let folder: string
let asked: string[]
/** The objects of the API server by path; for lists, an array. */
let there: Record<string, unknown>

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'pawl-further-'))
  asked = []
  there = {
    '/api/v1/namespaces/shop': { metadata: { name: 'shop' } },
    '/api/v1/namespaces/chaos-engineering': { metadata: { name: 'chaos-engineering' } },
    '/api/v1/namespaces/shop/pods': pods(10),
    '/api/v1/pods': pods(100),
    '/api/v1/nodes': nodes(3),
  }
})
afterEach(() => rmSync(folder, { recursive: true }))

const kube: ObjectReader = {
  get<Read>(path: string, { query = {} }: { readonly query?: Readonly<Record<string, string>> } = {}) {
    const { labelSelector, limit, continue: from = '0' } = query
    asked.push([path, labelSelector, limit, from].filter((part) => part !== undefined && part !== '0').join(' '))
    const found = there[path]
    if (!Array.isArray(found)) return Promise.resolve(found as Read | undefined)
    const end = Number(from) + Number(limit)
    const left = found.length - end
    const metadata =
      left <= 0 ? {} : { continue: String(end), ...(labelSelector === undefined && { remainingItemCount: left }) }
    return Promise.resolve({ metadata, items: found.slice(Number(from), end) } as Read)
  },
}

function rulesBy(config?: object, nodeName?: string): AsyncRules {
  return openAsyncRules({
    kube,
    ...(nodeName !== undefined && { nodeName }),
    warn: () => undefined,
    flags: { 'chaos-config': config === undefined ? undefined : configFile(folder, config) },
  })
}

const REQUEST = {
  namespace: 'shop',
  signal: NEVER,
  operation: 'CREATE',
  old: undefined,
  user: { name: 'alice', groups: ['dev'] },
} as const

type Request = Partial<AdmissionRequest> & {
  readonly kind?: Kind
  readonly metadata?: object
  readonly nodeName?: string
}

async function told(
  spec: object,
  config?: object,
  { metadata = {}, nodeName, ...request }: Request = {},
): Promise<readonly string[]> {
  const object = { metadata: { name: 'game', namespace: 'shop', ...metadata }, spec: specWith(spec) }
  return fields(await rulesBy(config, nodeName).validate({ ...REQUEST, kind: disruptionKind, object, ...request }))
}

const safeMode = (safe: object) => ({ controller: { safeMode: safe } })

const HANDLER = { handler: { enabled: true, image: 'handler:1' } }
const begins = (notBefore: string) => ({ ...HOSTS, triggers: { createPods: { notBefore } } })
const in_ = (environment: string) => ({ annotations: { 'chaos.datadoghq.com/environment': environment } })
const HOUR = { controller: { maxDuration: '1h' } }

describe('the creation of a Disruption', () => {
  beforeEach(() => vi.useFakeTimers({ now: new Date('2026-01-01T00:00:00Z'), toFake: ['Date'] }))
  afterEach(() => vi.useRealTimers())

  it.each<[string, object, object?, object?]>([
    ['violates no rule', HOSTS],
    ['has the maximum duration', { ...HOSTS, duration: '60m' }, HOUR],
    ['has the default duration', HOSTS, HOUR],
    ['is of a user of a permitted group', HOSTS, safeMode({ permittedUserGroups: ['ops', 'dev'] })],
    ['begins on init with the handler', { ...HOSTS, onInit: true }, HANDLER],
    ['begins now', begins('2026-01-01T00:00:00Z')],
    ['names the environment', HOSTS, safeMode({ environment: 'prod' }), in_('prod')],
    ['is of another kind than a disabled one', HOSTS, { controller: { disabledDisruptions: ['cpu-pressure'] } }],
    ['is of nodes without safe mode', { ...HOSTS, level: 'node' }, safeMode({ enable: false, allowNodeLevel: false })],
  ])('is admitted when it %s', async (_, spec, config, metadata) => {
    expect(await told(spec, config, metadata === undefined ? {} : { metadata })).toEqual([])
  })

  it.each<[string, string, object?, object?]>([
    ['lasts too long (A13)', 'spec.duration 1h0m0.001s', { duration: '1h1ms' }, HOUR],
    ['lasts too long by default (A13)', 'spec.duration 1h0m0s', {}, { controller: { maxDuration: '1m' } }],
    [
      'is of a disabled kind (A13)',
      'spec.network network-disruption',
      {},
      { controller: { disabledDisruptions: ['network-disruption'] } },
    ],
    [
      'is of a user of no such group (A17)',
      ' a user of the groups dev',
      {},
      safeMode({ permittedUserGroups: ['ops'] }),
    ],
    [
      'means no environment (A17)',
      'metadata.annotations[chaos.datadoghq.com/environment] nothing',
      {},
      safeMode({ environment: 'prod' }),
    ],
    ['begins while only deletions are carried out', ' a new Disruption', {}, { controller: { deleteOnly: true } }],
    ['begins on init without the handler (A6)', 'spec.onInit true', { onInit: true }],
    [
      'ought to have begun (A8)',
      'spec.triggers.createPods.notBefore "2025-12-31T23:59:59Z"',
      begins('2025-12-31T23:59:59Z'),
    ],
    ['is of nodes', 'spec.level node', { level: 'node' }, safeMode({ allowNodeLevel: false })],
    [
      'fails nodes',
      'spec.nodeFailure nodeFailure',
      { network: undefined, nodeFailure: {} },
      safeMode({ allowNodeFailure: false }),
    ],
  ])('is refused when it %s, and nothing is read for that', async (_, problem, spec, config) => {
    expect(await told({ ...HOSTS, ...spec }, config)).toEqual([problem])
    expect(asked).toEqual([])
  })

  it('is refused with a name that is no label', async () => {
    const name = 'x'.repeat(64)
    expect(await told(HOSTS, {}, { metadata: { name } })).toEqual([`metadata.name "${name}"`])
  })

  it('is rejected during an emergency stop of the namespace or the cluster, with the reason', async () => {
    there['/api/v1/namespaces/shop'] = { metadata: { name: 'shop', annotations: { [STOP]: 'too many alerts' } } }
    there['/api/v1/namespaces/chaos-engineering'] = {
      metadata: { name: 'chaos-engineering', annotations: { [STOP]: 'true' } },
    }
    const object = { metadata: { name: 'game', namespace: 'shop' }, spec: specWith(HOSTS) }
    const problems = await rulesBy().validate({ ...REQUEST, kind: disruptionKind, object })
    const stop = (name: string) =>
      `metadata.namespace: found an emergency stop (annotation ${STOP} of namespace "${name}")`
    expect(problems.map(problemText)).toEqual([
      `${stop('shop')}: too many alerts; expected no emergency stop; lift it with pawl chaos resume -n shop`,
      `${stop('chaos-engineering')}; expected no emergency stop; lift it with pawl chaos resume --all`,
    ])
  })

  const ports = [
    { name: 'http', port: 80 },
    { name: 'metrics', port: 9090 },
    { name: 'dns', port: 53, protocol: 'UDP' },
    { name: 'dns-tcp', port: 53, protocol: 'TCP' },
  ]
  const notPort = (port: object, count: number) => [
    `spec.network.services[0].ports[0] ${JSON.stringify(port)}, which matches ${count} ports of Service other/db`,
  ]
  it.each<[string, object, object[], readonly string[]]>([
    ['the whole of a Service', { ports }, [], []],
    ['a port by its number', { ports }, [{ port: 80 }], []],
    ['a port by its name', { ports }, [{ name: 'metrics' }], []],
    ['a port by both', { ports }, [{ name: 'dns', port: 53 }], []],
    ['a port with an empty name', { ports }, [{ name: '', port: 80 }], []],
    ['a headless Service', { clusterIP: 'None' }, [], []],
    ['a missing port', { ports }, [{ port: 81 }], notPort({ port: 81 }, 0)],
    ['a port of another name', { ports }, [{ name: 'http', port: 9090 }], notPort({ name: 'http', port: 9090 }, 0)],
    ['an ambiguous port', { ports }, [{ port: 53 }], notPort({ port: 53 }, 2)],
    [
      'a Service without pods',
      { type: 'ExternalName', externalName: 'a.example' },
      [],
      ['spec.network.services[0] Service other/db of type "ExternalName"'],
    ],
  ])('may or may not name %s', async (_, service, named, problems) => {
    there['/api/v1/namespaces/other/services/db'] = { spec: service }
    const services = [{ name: 'db', namespace: 'other', ports: named }]
    expect(await told({ network: { drop: 10, services } })).toEqual(problems)
  })

  it('needs existing Services', async () => {
    there['/api/v1/namespaces/other/services/db'] = { spec: { ports } }
    const services = ['db', 'gone'].map((name) => ({ name, namespace: 'other' }))
    expect(await told({ network: { drop: 10, services } })).toEqual(['spec.network.services[1] no Service other/gone'])
  })
})

describe('safety nets', () => {
  const allows = (countTooLarge: object) => ({ unsafeMode: { config: { countTooLarge } } })
  const disk = (more: object) => ({ network: undefined, diskFailure: { paths: ['/a', ' // '] }, ...more })
  beforeEach(() => {
    there['/api/v1/namespaces/other/services/db'] = { spec: {} }
  })

  it.each<[string, object, string[]]>([
    ['8 of 10 pods', { count: 8 }, []],
    ['9 of 10 pods', { count: 9 }, ['spec.count 9 of 10 in the namespace']],
    ['9 of 10 pods, unsafely', { count: 9, unsafeMode: { disableCountTooLarge: true } }, []],
    ['a share of 80 percent', { count: '80%' }, []],
    ['a share of 81 percent', { count: '81%' }, ['spec.count 9 of 10 in the namespace']],
    ['3 of 3 nodes', { count: 3, level: 'node' }, ['spec.count 3 of 3 in the cluster']],
    ['1 of 3 nodes', { count: '1%', level: 'node' }, []],
    ['as many pods as the author allows', { count: 9, ...allows({ namespaceThreshold: 90 }) }, []],
    [
      'fewer pods than operators allow',
      { count: 2, ...allows({ clusterThreshold: 1 }) },
      ['spec.count 2 of 100 in the cluster'],
    ],
    ['all that is unsafe', { count: 10, network: { drop: 1 }, unsafeMode: { disableAll: true } }, []],
    ['the whole network', { network: { drop: 1 } }, ['spec.network neither hosts nor services']],
    ['the whole network, meant', { network: { drop: 1 }, unsafeMode: { disableNeitherHostNorPort: true } }, []],
    ['services alone', { network: { drop: 1, services: [{ name: 'db', namespace: 'other' }] } }, []],
    ['the root disk of a pod', disk({}), []],
    ['the root disk of nodes', disk({ level: 'node' }), ['spec.diskFailure.paths the root folder of a node']],
    ['the root disk, meant', disk({ level: 'node', unsafeMode: { allowRootDiskFailure: true } }), []],
  ])('say of %s what they are for (A18)', async (_, spec, problems) => {
    expect(await told({ ...HOSTS, ...spec })).toEqual(problems)
  })

  it("do not count nodes of Pawl's processes, unless safeguards are disabled", async () => {
    const of = async (controller: object, nodeName?: string) =>
      await told({ ...HOSTS, level: 'node', count: '100%' }, { controller }, nodeName === undefined ? {} : { nodeName })
    const [, name = ''] = (there['/api/v1/nodes'] as { metadata: { name: string } }[]).map(
      ({ metadata }) => metadata.name,
    )
    expect(await of({})).toEqual(['spec.count 3 of 3 in the cluster'])
    expect(await of({ safeMode: { clusterThreshold: 60 } }, name)).toEqual(['spec.count 2 of 3 in the cluster'])
    expect(await of({ safeMode: { clusterThreshold: 67 } }, name)).toEqual([])
    expect(await of({ enableSafeguards: false, safeMode: { clusterThreshold: 67 } }, name)).toEqual([
      'spec.count 3 of 3 in the cluster',
    ])
  })

  it('do not let authors allow what operators forbid', async () => {
    const spec = { nodeFailure: {}, level: 'node', unsafeMode: { disableAll: true } }
    const forbidding = safeMode({ allowNodeFailure: false, allowNodeLevel: false })
    expect(await told(spec, forbidding)).toEqual(['spec.nodeFailure nodeFailure', 'spec.level node'])
  })

  it('are off without safe mode, and then read nothing', async () => {
    expect(await told({ ...DROP, count: 9 }, safeMode({ enable: false }))).toEqual([])
    expect(asked).toEqual(['/api/v1/namespaces/shop', '/api/v1/namespaces/chaos-engineering'])
  })

  it('check an update only if the count changes', async () => {
    const config = safeMode({ permittedUserGroups: ['ops'] })
    const operation = 'UPDATE'
    expect(await told({ ...HOSTS, count: 9 }, config, { operation })).toEqual(['spec.count 9 of 10 in the namespace'])
    expect(await told({ ...HOSTS, count: 8 }, config, { operation })).toEqual([])
    expect(asked.some((path) => path.startsWith('/api/v1/namespaces/shop '))).toBe(false)
  })

  it('count all objects with one object each, and list selected objects in chunks', async () => {
    there['/api/v1/namespaces/shop/pods'] = pods(1200)
    there['/api/v1/pods'] = pods(5000)
    expect(await told({ ...HOSTS, count: '50%' })).toEqual([])
    const of = '/api/v1/namespaces/shop/pods app=demo 500'
    expect(asked.slice(2).sort()).toEqual(
      ['/api/v1/namespaces/shop/pods 1', '/api/v1/pods 1', of, `${of} 500`, `${of} 1000`].sort(),
    )
  })
})

describe('a cron or rollout that operators have disabled', () => {
  const warningsOf = async (kind: Kind, config?: object) =>
    await rulesBy(config).warnings?.({ ...REQUEST, kind, object: {} })

  it('is admitted with a warning', async () => {
    const config = { controller: { disruptionCronEnabled: false, disruptionRolloutEnabled: false } }
    expect(await warningsOf(disruptionCronKind, config)).toEqual([
      'controller.disruptionCronEnabled is false, so no Disruption is created',
    ])
    expect(await warningsOf(disruptionRolloutKind, config)).toEqual([
      'controller.disruptionRolloutEnabled is false, so no Disruption is created',
    ])
    for (const kind of [disruptionCronKind, disruptionRolloutKind]) expect(await warningsOf(kind)).toEqual([])
  })
})

describe.each([disruptionCronKind, disruptionRolloutKind])('the template of a $kind', (kind) => {
  const REJECTS = '; the webhook will reject each Disruption of this template'
  it.each<[string, object, string, object?]>([
    [
      'neither hosts nor services',
      { network: { drop: 1 } },
      'spec.disruptionTemplate.network: found neither hosts nor services; expected hosts or services, or unsafeMode.disableNeitherHostNorPort: true',
    ],
    [
      'a duration that is too long',
      { ...HOSTS, duration: '61m' },
      'spec.disruptionTemplate.duration: found 1h1m0s; expected at most 1h0m0s',
      HOUR,
    ],
    [
      'onInit without the handler',
      { ...HOSTS, onInit: true },
      'spec.disruptionTemplate.onInit: found true; expected false, because handler.enabled is false',
    ],
  ])('with %s is accepted with a warning', async (_, template, warning, config) => {
    const rules = rulesBy(config)
    const of = (disruptionTemplate: object) => ({ ...REQUEST, kind, object: { spec: { disruptionTemplate } } })
    expect(await rules.warnings?.(of(template))).toEqual([`${warning}${REJECTS}`])
    expect(await rules.warnings?.(of(HOSTS))).toEqual([])
  })
})

describe('the finalizer of a Disruption', () => {
  const held = (finalizers: readonly string[]) => ({ metadata: { name: 'game', namespace: 'shop', finalizers } })
  const HELD = held(['finalizer.chaos.datadoghq.com'])
  const off = async (object: object, kind: Kind = disruptionKind, old: object = HELD) =>
    fields((await rulesBy().metadata?.({ ...REQUEST, kind, operation: 'UPDATE', old, object })) ?? [])
  const path = '/api/v1/namespaces/chaos-engineering/pods'
  const labels = 'chaos.datadoghq.com/disruption-name=game,chaos.datadoghq.com/disruption-namespace=shop'

  it('must stay while chaos pods exist (A16)', async () => {
    there[path] = pods(1)
    expect(await off(held([]))).toEqual(['metadata.finalizers a removed finalizer'])
    expect(asked).toEqual([`${path} ${labels} 11`])
  })

  it('must stay while chaos pods exist in the recorded namespace', async () => {
    const begun = '/api/v1/namespaces/disturbers/pods'
    there[begun] = pods(1)
    const object = { ...held([]), status: { chaosNamespace: 'disturbers' } }
    const old = { ...HELD, status: { chaosNamespace: 'disturbers' } }
    expect(await off(object, disruptionKind, old)).toEqual(['metadata.finalizers a removed finalizer'])
    expect(asked).toEqual([`${begun} ${labels} 11`])
  })

  it('may be removed after the last chaos pod, and others at any time', async () => {
    there[path] = []
    expect(await off(held([]))).toEqual([])
    there[path] = pods(1)
    const both = held(['finalizer.chaos.datadoghq.com', 'other'])
    expect(await off(HELD, disruptionKind, both)).toEqual([])
    expect(await off(held([]), disruptionKind, held(['other']))).toEqual([])
  })

  it('causes no request if it stays, or for other kinds', async () => {
    there[path] = pods(1)
    expect([...(await off(HELD)), ...(await off(held([]), disruptionCronKind))]).toEqual([])
    expect(asked).toEqual([])
  })
})

describe('a DisruptionCron', () => {
  it("must meet the operators' rules", async () => {
    const template = specWith(DROP)
    const object = { metadata: { name: 'nightly' }, spec: { schedule: '*/5 * * * *', disruptionTemplate: template } }
    const config = { controller: { defaultDuration: '4m30s', safeMode: { permittedUserGroups: ['ops'] } } }
    expect(await told({}, config, { object, kind: disruptionCronKind })).toEqual([
      ' a user of the groups dev',
      'spec.schedule 30s between the end of a Disruption and the next one',
    ])
  })
})

describe('the operators’ configuration', () => {
  it('sets the default durations', () => {
    const rules = rulesBy({ controller: { defaultDuration: '5m', defaultCronDelayedStartTolerance: '15m' } })
    const request = { ...REQUEST, object: {} }
    expect([
      rules.mutate?.(DURATION_MUTATION, { ...request, kind: disruptionKind }),
      rules.mutate?.(TOLERANCE_MUTATION, { ...request, kind: disruptionCronKind }),
      rules.mutate?.('another', { ...request, kind: disruptionKind }),
    ]).toEqual([
      [{ path: ['spec', 'duration'], value: '5m0s' }],
      [{ path: ['spec', 'delayedStartTolerance'], value: '15m0s' }],
      [],
    ])
  })

  it('keeps the webhook from starting if it is invalid', () => {
    expect(() => rulesBy({ controller: { deleteOnly: 'perhaps' } })).toThrow(/controller\.deleteOnly: found "perhaps"/)
  })

  it('keeps the webhook from starting if metrics have no destination', () => {
    const open = (flags: object, statsd: object) =>
      openAsyncRules({
        kube,
        warn: () => undefined,
        flags: { 'chaos-config': undefined, ...flags },
        metrics: { source: { addObserver: () => undefined }, statsd },
      })
    const sink = { 'metrics-sink': 'datadog' }
    expect(() => open(sink, {})).toThrow('controller.metricsSink): found neither STATSD_URL nor DD_AGENT_HOST')
    expect(() => open(sink, { url: 'unix:///dsd.socket' })).toThrow("STATSD_URL: found 'unix:///dsd.socket'")
    expect(() => open({}, {})).not.toThrow()
  })
})

function fields(problems: readonly Problem[]): readonly string[] {
  return problems.map(({ field, found }) => `${field} ${found}`)
}

function pods(count: number): readonly object[] {
  return Array.from({ length: count }, (_, index) => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: `pod-${index}`, uid: `u-${index}`, resourceVersion: '1' },
    status: { phase: 'Running' },
  }))
}

function nodes(count: number): readonly object[] {
  return Array.from({ length: count }, (_, index) => ({
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: `node-${index}`, uid: `n-${index}`, resourceVersion: '1' },
    status: { conditions: [{ type: 'Ready', status: 'True' }] },
  }))
}
