import { describe, expect, it } from 'vitest'

import { namedServices, serviceProblems } from '../../../../../workflows/chaos/disruption/rules/services.ts'

const SERVICE = {
  spec: {
    type: 'ClusterIP',
    ports: [
      { name: 'http', port: 80 },
      { name: 'metrics', port: 9090 },
      { name: 'dns', port: 53, protocol: 'UDP' },
      { name: 'dns-tcp', port: 53, protocol: 'TCP' },
    ],
  },
}

function problems(ports: readonly object[], found: unknown = SERVICE): readonly string[] {
  const spec = { network: { services: [{ name: 'shop', namespace: 'other', ports }] } }
  return namedServices(spec).flatMap((one) =>
    serviceProblems(one, found).map((problem) => `${problem.field} ${problem.found}`),
  )
}

describe('a Service in a spec', () => {
  it.each<[string, object[]]>([
    ['whole', []],
    ['by a number', [{ port: 80 }]],
    ['by a name', [{ name: 'metrics' }]],
    ['by both', [{ name: 'dns', port: 53 }]],
    ['with an empty name', [{ name: '', port: 80 }]],
  ])('may be disturbed %s', (_, ports) => {
    expect(problems(ports)).toEqual([])
  })

  it.each<[string, object, number]>([
    ['that it does not have', { port: 81 }, 0],
    ['of another name', { name: 'http', port: 9090 }, 0],
    ['that is two', { port: 53 }, 2],
  ])('has no port %s', (_, port, count) => {
    expect(problems([{ port: 80 }, port])).toEqual([
      `spec.network.services[0].ports[1] ${JSON.stringify(port)}, which is ${count} ports of Service other/shop`,
    ])
  })

  it('must exist', () => {
    expect(
      namedServices({ network: { services: [{ name: 'shop', namespace: 'other' }] } }).flatMap((one) =>
        serviceProblems(one, undefined),
      ),
    ).toEqual([{ field: 'spec.network.services[0]', found: 'no Service other/shop', expected: 'one that is there' }])
  })

  it('must have type ClusterIP, headless or not', () => {
    expect(problems([], { spec: { clusterIP: 'None' } })).toEqual([])
    expect(problems([], { spec: { type: 'ExternalName', externalName: 'a.example' } })).toEqual([
      'spec.network.services[0] Service other/shop of type "ExternalName"',
    ])
  })

  it('is not needed by a spec without a network', () => {
    expect(namedServices({ cpuPressure: {} })).toEqual([])
  })
})
