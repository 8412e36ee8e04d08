// The admission rules for a new Disruption that need the configuration or the cluster.

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'

import { disruptionKind } from '../../../workflows/chaos/disruption/kind.ts'
import { problemText } from '../../../workflows/kit/index.ts'
import { specWith, DROP } from '../../workflows/chaos/disruption/spec-cases.ts'
import {
  HANDLER,
  HOSTS,
  HOUR,
  STOP,
  begins,
  in_,
  pods,
  REQUEST,
  rulesBy,
  safeMode,
  told,
  stage,
  useRuleStage,
} from './rule-stage.ts'

useRuleStage()

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
    expect(stage.asked).toEqual([])
  })

  it('is refused with a name that is no label', async () => {
    const name = 'x'.repeat(64)
    expect(await told(HOSTS, {}, { metadata: { name } })).toEqual([`metadata.name "${name}"`])
  })

  it('is rejected during an emergency stop of the namespace or the cluster, with the reason', async () => {
    stage.there['/api/v1/namespaces/shop'] = { metadata: { name: 'shop', annotations: { [STOP]: 'too many alerts' } } }
    stage.there['/api/v1/namespaces/chaos-engineering'] = {
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
    stage.there['/api/v1/namespaces/other/services/db'] = { spec: service }
    const services = [{ name: 'db', namespace: 'other', ports: named }]
    expect(await told({ network: { drop: 10, services } })).toEqual(problems)
  })

  it('needs existing Services', async () => {
    stage.there['/api/v1/namespaces/other/services/db'] = { spec: { ports } }
    const services = ['db', 'gone'].map((name) => ({ name, namespace: 'other' }))
    expect(await told({ network: { drop: 10, services } })).toEqual(['spec.network.services[1] no Service other/gone'])
  })
})

describe('safety nets', () => {
  const allows = (countTooLarge: object) => ({ unsafeMode: { config: { countTooLarge } } })
  const disk = (more: object) => ({ network: undefined, diskFailure: { paths: ['/a', ' // '] }, ...more })
  beforeEach(() => {
    stage.there['/api/v1/namespaces/other/services/db'] = { spec: {} }
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
    const [, name = ''] = (stage.there['/api/v1/nodes'] as { metadata: { name: string } }[]).map(
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
    expect(stage.asked).toEqual(['/api/v1/namespaces/shop', '/api/v1/namespaces/chaos-engineering'])
  })

  it('check an update only if the count changes', async () => {
    const config = safeMode({ permittedUserGroups: ['ops'] })
    const operation = 'UPDATE'
    expect(await told({ ...HOSTS, count: 9 }, config, { operation })).toEqual(['spec.count 9 of 10 in the namespace'])
    expect(await told({ ...HOSTS, count: 8 }, config, { operation })).toEqual([])
    expect(stage.asked.some((path) => path.startsWith('/api/v1/namespaces/shop '))).toBe(false)
  })

  it('count all objects with one object each, and list selected objects in chunks', async () => {
    stage.there['/api/v1/namespaces/shop/pods'] = pods(1200)
    stage.there['/api/v1/pods'] = pods(5000)
    expect(await told({ ...HOSTS, count: '50%' })).toEqual([])
    const of = '/api/v1/namespaces/shop/pods app=demo 500'
    expect(stage.asked.slice(2).sort()).toEqual(
      ['/api/v1/namespaces/shop/pods 1', '/api/v1/pods 1', of, `${of} 500`, `${of} 1000`].sort(),
    )
  })
})
