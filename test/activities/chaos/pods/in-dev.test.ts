import { mkdtempSync, rmSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { chaosPods } from '../../../../activities/chaos/pods.ts'
import { configFile } from '../../../support/chaos/config-file.ts'
import { parseAllDocuments } from 'yaml'
import { inChaosNamespace } from '../../../../activities/chaos/pods/in-dev.ts'
import { CHAOS_NAMESPACE_LABEL } from '../../../../workflows/chaos/contract.ts'
import type { KubeObject } from '../../../../activities/kube/client.ts'

const folder = mkdtempSync(join(tmpdir(), 'pawl-in-dev-'))
afterAll(() => {
  rmSync(folder, { recursive: true })
})
const { inDev } = chaosPods
const config = configFile(folder, { injector: { chaosNamespace: 'disturbers' } })
const given = (path: string | undefined) => ({
  kubeconfigPath: 'k',
  folder: 'f',
  isServerOurs: true,
  flags: { 'chaos-config': path },
  env: {},
  download: () => Promise.reject(new Error('unused')),
  mountProblem: () => Promise.resolve(undefined),
})

describe('the chaos pods of `pawl dev` and their manifests', () => {
  it('use the configured chaos namespace', async () => {
    expect(await inDev?.flags(given(config))).toMatchObject({ 'chaos-namespace': 'disturbers' })
    expect(await inDev?.setUp?.('name: chaos-engineering', given(config).flags)).toBe('name: disturbers')
  })

  it('use the default namespace without a configuration', async () => {
    expect(await inDev?.flags(given(undefined))).toMatchObject({ 'chaos-namespace': 'chaos-engineering' })
    expect(await inDev?.setUp?.('name: chaos-engineering', {})).toBe('name: chaos-engineering')
  })

  it('report invalid fields that only the worker uses', async () => {
    const wrong = configFile(folder, { controller: { notifiers: { slack: { enabled: 'maybe' } } } })
    await expect(inDev?.setUp?.('', given(wrong).flags)).rejects.toThrow(
      /controller\.notifiers\.slack\.enabled: found "maybe"; expected true or false/,
    )
  })

  it("simulate pods without a process, but never in the user's own cluster", async () => {
    expect(await inDev?.flags(given(undefined))).toMatchObject({ 'no-process': 'simulate' })
    const flags = await inDev?.flags({ ...given(undefined), isServerOurs: false })
    expect(flags).not.toHaveProperty('no-process')
  })

  it('report an invalid configuration', async () => {
    const wrong = configFile(folder, { injector: { chaosNamespace: 'No' } })
    await expect(inDev?.flags(given(wrong))).rejects.toThrow(
      /injector\.chaosNamespace: found "No"; expected the name of a namespace/,
    )
  })
})

const MANIFEST = new URL('../../../../deploy/setup/chaos/injector.yaml', import.meta.url)
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
