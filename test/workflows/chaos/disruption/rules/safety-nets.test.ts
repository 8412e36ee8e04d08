import { describe, expect, it } from 'vitest'

import { type Population, safetyNetProblems } from '../../../../../workflows/chaos/disruption/rules/safety-nets.ts'
import { disrupting } from '../spec-cases.ts'

const safeMode = {
  enable: true,
  namespaceThreshold: 80,
  clusterThreshold: 66,
  allowNodeFailure: true,
  allowNodeLevel: true,
}
const of = (targets: number, inNamespace: number | undefined, inCluster: number): Population => ({
  targets,
  inNamespace,
  inCluster,
})
const HOSTS = { network: { drop: 1, hosts: [{ host: 'a' }] } }
const FEW = of(1, 10, 100)
const root = (path: string) => ({ diskFailure: { paths: ['/a', path] } })

const fieldsWrong = (spec: object, population: Population, mode = safeMode) =>
  safetyNetProblems(disrupting(spec), mode, population).map(({ field }) => field)

describe('safety nets', () => {
  it.each<readonly [string, object, Population]>([
    ['exactly the limit of the namespace (A18)', HOSTS, of(8, 10, 100)],
    ['exactly the limit of the cluster', HOSTS, of(66, undefined, 100)],
    ['too many that are meant (A18)', { ...HOSTS, unsafeMode: { disableCountTooLarge: true } }, of(9, 10, 10)],
    [
      'as many as the author allows',
      { ...HOSTS, unsafeMode: { config: { countTooLarge: { namespaceThreshold: 90 } } } },
      of(9, 10, 100),
    ],
    ['all that is unsafe', { network: { drop: 1 }, unsafeMode: { disableAll: true } }, of(10, 10, 10)],
    ['the whole network, meant', { network: { drop: 1 }, unsafeMode: { disableNeitherHostNorPort: true } }, FEW],
    ['services alone', { network: { drop: 1, services: [{ name: 'a', namespace: 'b' }] } }, FEW],
    ['services of a cloud', { network: { drop: 1, cloud: { aws: [{ service: 'S3' }] } } }, FEW],
    ['the root disk of a pod', root('/'), FEW],
    ['the root disk, meant', { ...root('/'), level: 'node', unsafeMode: { allowRootDiskFailure: true } }, FEW],
  ])('let pass: %s', (_, spec, population) => {
    expect(fieldsWrong(spec, population)).toEqual([])
  })

  it.each<readonly [string, object, Population, readonly string[]]>([
    ['9 of 10 pods of the namespace (A18)', HOSTS, of(9, 10, 100), ['spec.count']],
    ['67 of 100 nodes', { ...HOSTS, level: 'node' }, of(67, undefined, 100), ['spec.count']],
    ['the only pod', HOSTS, of(1, 1, 1), ['spec.count', 'spec.count']],
    [
      'fewer than operators allow',
      { ...HOSTS, unsafeMode: { config: { countTooLarge: { clusterThreshold: 1 } } } },
      of(2, 10, 100),
      ['spec.count'],
    ],
    ['the whole network', { network: { drop: 1 } }, FEW, ['spec.network']],
    ['the root disk of nodes', { ...root(' // '), level: 'node' }, FEW, ['spec.diskFailure.paths']],
  ])('hold: %s', (_, spec, population, fields) => {
    expect(fieldsWrong(spec, population)).toEqual(fields)
  })

  it('are off without safe mode', () => {
    expect(fieldsWrong({ network: { drop: 1 } }, of(10, 10, 10), { ...safeMode, enable: false })).toEqual([])
  })

  it('do not let authors allow what operators forbid', () => {
    const forbidding = { ...safeMode, allowNodeFailure: false, allowNodeLevel: false }
    const spec = { nodeFailure: {}, level: 'node', unsafeMode: { disableAll: true } }
    expect(fieldsWrong(spec, FEW, forbidding)).toEqual(['spec.nodeFailure', 'spec.level'])
  })
})
