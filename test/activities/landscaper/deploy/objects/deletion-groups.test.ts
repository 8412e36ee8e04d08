import { describe, expect, it } from 'vitest'

import { ConfigReader } from '../../../../../activities/landscaper/deploy/objects/config-reader.ts'
import {
  DEFAULT_GROUPS,
  isInGroup,
  readDeletionGroups,
} from '../../../../../activities/landscaper/deploy/objects/deletion-groups.ts'
import type { ResourceRef } from '../../../../../activities/landscaper/deploy/objects/managed-resources.ts'

const CRD = { apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition', name: 'crd' }
const NAMESPACE = { apiVersion: 'v1', kind: 'Namespace', name: 'ns' }
const MAP = { apiVersion: 'v1', kind: 'ConfigMap', name: 'a', namespace: 'n' }
const POLICY = { apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy', name: 'p', namespace: 'm' }
const ALL: readonly ResourceRef[] = [CRD, NAMESPACE, MAP, POLICY]

function groups(...entries: readonly unknown[]) {
  const reader = new ConfigReader()
  const read = readDeletionGroups(reader, entries, 'groups')
  expect(reader.mistakes).toEqual([])
  return read
}

const custom = (fields: object) => ({ customResourceGroup: fields })
const predefined = (type: string) => ({ predefinedResourceGroup: { type } })

/** The names of the resources by the first group that takes them. */
const sorted = (read: ReturnType<typeof groups>, plural?: string) =>
  read.map((group, index) =>
    ALL.filter(
      (ref) => read.findIndex((one) => isInGroup(one, ref, plural)) === index && isInGroup(group, ref, plural),
    ).map(({ name }) => name),
  )

describe('deletion groups', () => {
  it('are by default namespaced, cluster-scoped, definitions', () => {
    expect(groups()).toEqual(DEFAULT_GROUPS)
    expect(sorted(groups())).toEqual([['a', 'p'], ['ns'], ['crd']])
  })

  it('take a resource once, in the first that matches', () => {
    const types = { resources: [{ apiVersion: 'v1', kind: 'ConfigMap' }] }
    expect(sorted(groups(predefined('crds'), custom(types), predefined('namespaced-resources')))).toEqual([
      ['crd'],
      ['a'],
      ['p'],
    ])
  })

  it('may be none', () => {
    expect(sorted(groups(predefined('empty')))).toEqual([[]])
  })

  it.each(['ConfigMap', 'configmap', 'configmaps', 'CONFIGMAPS'])('know a kind by the word %s', (kind) => {
    expect(sorted(groups(custom({ resources: [{ apiVersion: 'v1', kind }] })))).toEqual([['a']])
  })

  it('know the plural that the cluster serves, and guess it for a kind that is no longer served', () => {
    const ofPolicies = groups(custom({ resources: [{ apiVersion: POLICY.apiVersion, kind: 'networkpolicies' }] }))
    expect(sorted(ofPolicies)).toEqual([['p']])
    expect(sorted(ofPolicies, 'netpols')).toEqual([[]])
  })

  it.each([
    [{ apiVersion: 'v1', kind: 'ConfigMap', names: ['b'] }, []],
    [{ apiVersion: 'v1', kind: 'ConfigMap', names: ['b', 'a'], namespaces: ['n'] }, ['a']],
    [{ apiVersion: 'v1', kind: 'ConfigMap', namespaces: ['m'] }, []],
    [{ apiVersion: 'v1', kind: 'Namespace', namespaces: ['ns'] }, []],
    // Another version of the group shows the same objects.
    [{ apiVersion: 'v2', kind: 'ConfigMap' }, ['a']],
    [{ apiVersion: 'g.example/v1', kind: 'ConfigMap' }, []],
  ])('match %j', (types, names) => {
    expect(sorted(groups(custom({ resources: [types] })))).toEqual([names])
  })

  it('that delete everything on another target contain no object of this one', () => {
    const all = { resources: [{ apiVersion: 'v1', kind: 'ConfigMap' }], deleteAllResources: true }
    expect(sorted(groups(custom({ ...all, targetName: 'other' }), custom(all)))).toEqual([[], ['a']])
  })
})
