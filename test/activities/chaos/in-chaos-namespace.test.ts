import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { parseAllDocuments } from 'yaml'

import { inChaosNamespace } from '../../../activities/chaos/node-agent/in-dev.ts'
import { CHAOS_NAMESPACE_LABEL } from '../../../workflows/chaos/contract.ts'
import type { KubeObject } from '../../../activities/kube/client.ts'

const MANIFEST = new URL('../../../deploy/setup/chaos/injector.yaml', import.meta.url)
type Made = KubeObject & { readonly subjects?: readonly object[] }

describe('the manifests for another chaos namespace', () => {
  const objects = parseAllDocuments(inChaosNamespace(readFileSync(MANIFEST, 'utf8'), 'disturbers')).map(
    (document) => document.toJS() as Made,
  )

  it('contain and bind everything, and set the label for commands', () => {
    const [namespace] = objects.filter(({ kind }) => kind === 'Namespace')
    expect(namespace?.metadata).toMatchObject({ name: 'disturbers', labels: { [CHAOS_NAMESPACE_LABEL]: 'true' } })
    const places = objects.map(({ metadata }) => metadata.namespace).filter((place) => place !== undefined)
    expect(new Set(places)).toEqual(new Set(['disturbers']))
    const subjects = objects.flatMap(({ subjects: bound = [] }) => bound)
    expect(subjects).toHaveLength(2)
    for (const subject of subjects) expect(subject).toMatchObject({ name: 'chaos-injector', namespace: 'disturbers' })
  })

  it('do not change the default set-up: cluster-wide objects are the same or have another name', () => {
    const usual = parseAllDocuments(readFileSync(MANIFEST, 'utf8')).map((document) => document.toJS() as Made)
    const ofCluster = (all: readonly Made[], kind: string) =>
      all.filter((one) => one.kind === kind).map(({ metadata }) => metadata.name)
    expect(ofCluster(objects, 'ClusterRole')).toEqual(ofCluster(usual, 'ClusterRole'))
    for (const kind of ['Namespace', 'ClusterRoleBinding'])
      expect(ofCluster(objects, kind)).not.toEqual(ofCluster(usual, kind))
  })
})
