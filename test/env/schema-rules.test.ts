// The rules that the CRDs keep by themselves, without a webhook: what they refuse, that they refuse nothing that the webhook takes, and that what stands
// there since a time before them can be worked with. Source: spec/landscaper.md 5.3.

import { execFile } from 'node:child_process'
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest'
import { parse } from 'yaml'

import type { KubeObject } from '../../activities/kube/client.ts'
import { resourcePath } from '../../activities/kube/resource-path.ts'
import { crdDocument } from '../../worker/gen/crd.ts'
import { ADMISSIONS } from '../../workflows/admission.gen.ts'
import type { Kind } from '../../workflows/kit/index.ts'
import { deployItemKind } from '../../workflows/landscaper/deploy-item/kind.ts'
import { executionKind } from '../../workflows/landscaper/execution/kind.ts'
import { installationKind } from '../../workflows/landscaper/installation/kind.ts'
import { Cluster, FINALIZER, item } from '../support/cluster.ts'

const cluster = new Cluster(inject('servers').kubeconfigPath, 'schema-rules')
const { kube } = cluster
beforeAll(() => cluster.createNamespace())
afterAll(() => kube.close())

const DRY = { query: { dryRun: 'All', fieldValidation: 'Strict' } }

async function create(kind: Kind, name: string, spec: object, more: object = {}): Promise<KubeObject> {
  const { apiVersion, plural } = kind
  const body = { apiVersion, kind: kind.kind, metadata: { name, finalizers: [FINALIZER] }, spec }
  return await kube.request<KubeObject>('POST', resourcePath({ apiVersion, plural }, cluster.namespace), {
    ...{ body, ...more },
  })
}

/** The field that is named. */
async function refusedField(kind: Kind, spec: object): Promise<string | undefined> {
  const refused = await create(kind, 'refused', spec, DRY).then(
    () => 'it was taken',
    (error: unknown) => String(error),
  )
  return / is refused: (.+): Invalid value$/.exec(refused)?.[1] ?? refused
}

/** What a user reads. */
async function kubectlSays({ apiVersion, kind }: Kind, spec: object): Promise<string> {
  const { kubectlPath, kubeconfigPath } = inject('servers')
  const manifest = { apiVersion, kind, metadata: { name: 'refused', namespace: cluster.namespace }, spec }
  return await new Promise((resolve) => {
    const args = [`--kubeconfig=${kubeconfigPath}`, 'create', '-f', '-']
    const child = execFile(kubectlPath, args, (_error, _out, stderr) => resolve(stderr))
    child.stdin?.end(JSON.stringify(manifest))
  })
}

function admissionProblems(kind: Kind, spec: object): readonly string[] {
  const admission = ADMISSIONS['landscaper']?.find((one) => one.kind === kind)
  const object = { metadata: { name: 'refused' }, spec }
  const asked = { operation: 'CREATE', object, old: undefined, user: { name: 'x', groups: [] } } as const
  return [...(admission?.validate(asked) ?? [])].map(({ field }) => field)
}

const INLINE = { inline: { filesystem: {} } }
const install = (spec: object) => ({ blueprint: INLINE, ...spec })
const data = (...list: readonly object[]) => install({ imports: { data: list } })
const targets = (...list: readonly object[]) => install({ imports: { targets: list } })
const items = (...deployItems: readonly object[]) => ({ deployItems })

describe('the CRDs', () => {
  it.each<readonly [Kind, object, string]>([
    [installationKind, { blueprint: {} }, 'spec.blueprint'],
    [installationKind, { blueprint: { ...INLINE, ref: { resourceName: 'x' } } }, 'spec.blueprint'],
    [installationKind, data({ name: 'a' }), 'spec.imports.data[0]'],
    [installationKind, data({ name: 'a', dataRef: '' }), 'spec.imports.data[0]'],
    [
      installationKind,
      data({ name: 'a', dataRef: 'x' }, { name: 'b', dataRef: 'x', secretRef: { name: 'y' } }),
      'spec.imports.data[1]',
    ],
    [installationKind, data({ name: '', dataRef: 'x' }), 'spec.imports.data[0].name'],
    [installationKind, data({ name: 'a', secretRef: { name: '' } }), 'spec.imports.data[0].secretRef.name'],
    [installationKind, targets({ name: 'a' }), 'spec.imports.targets[0]'],
    [installationKind, targets({ name: 'a', target: 'x', targets: [] }), 'spec.imports.targets[0]'],
    [installationKind, targets({ name: 'a', targetMap: {}, targetMapRef: 'x' }), 'spec.imports.targets[0]'],
    [installationKind, targets({ name: 'a', targets: ['x', ''] }), 'spec.imports.targets[0].targets[1]'],
    [installationKind, targets({ name: 'a', targetMap: { k: '' } }), 'spec.imports.targets[0].targetMap.k'],
    [
      installationKind,
      install({ componentDescriptor: { ref: { componentName: '', version: '1' } } }),
      'spec.componentDescriptor.ref.componentName',
    ],
    [
      installationKind,
      install({ componentDescriptor: { ref: { componentName: 'c', version: '1' }, inline: {} } }),
      'spec.componentDescriptor',
    ],
    [installationKind, install({ exports: { data: [{ name: 'a', dataRef: '' }] } }), 'spec.exports.data[0].dataRef'],
    [installationKind, install({ exports: { targets: [{ name: '', target: 'x' }] } }), 'spec.exports.targets[0].name'],
    [executionKind, items(item({ name: '' })), 'spec.deployItems[0].name'],
    [executionKind, items({ ...item({ name: 'a' }), type: '' }), 'spec.deployItems[0].type'],
    [
      executionKind,
      items({ ...item({ name: 'a' }), target: { name: '', namespace: 'n' } }),
      'spec.deployItems[0].target.name',
    ],
    [deployItemKind, { type: 't', target: { name: '', namespace: 'n' } }, 'spec.target.name'],
    [deployItemKind, { type: '' }, 'spec.type'],
  ])('refuse, with the field, what the webhook refuses, too: %#', async (kind, spec, field) => {
    expect(await refusedField(kind, spec)).toBe(field)
    expect(admissionProblems(kind, spec)).toEqual([field])
  })

  it('tell what they expect', async () => {
    expect(await kubectlSays(installationKind, data({ name: 'a' }))).toContain(
      'spec.imports.data[0]: Invalid value: "object": expected exactly one of dataRef, secretRef, configMapRef',
    )
    expect(await kubectlSays(executionKind, items(item({ name: '' })))).toContain(
      'spec.deployItems[0].name: Invalid value: "": spec.deployItems[0].name in body should be at least 1 chars long',
    )
  })

  it.each<readonly [string, Kind, object]>([
    ['an empty text beside a source', installationKind, data({ name: 'a', dataRef: '', secretRef: { name: 's' } })],
    ['the same of targets', installationKind, targets({ name: 'a', target: '', targetListRef: '', targets: [] })],
    ['nothing but the blueprint', installationKind, install({})],
    ['a component in place', installationKind, install({ componentDescriptor: { inline: { meta: { any: ['x'] } } } })],
    ['empty lists', installationKind, install({ imports: { data: [], targets: [] }, exports: { data: [] } })],
    // As many as fit into an object: rules may not take more than the API server gives them.
    [
      'very many imports',
      installationKind,
      install({
        imports: {
          data: Array.from({ length: 20_000 }, (_, n) => ({ name: `d${n}`, dataRef: 'x' })),
          targets: Array.from({ length: 20_000 }, (_, n) => ({ name: `t${n}`, target: 'x' })),
        },
      }),
    ],
    ['very many items', executionKind, items(...Array.from({ length: 5000 }, (_, n) => item({ name: `i${n}` })))],
  ])('take %s, as the webhook does', async (_, kind, spec) => {
    await create(kind, 'taken', spec, DRY)
    expect(admissionProblems(kind, spec)).toEqual([])
  })
})

const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
const GROUP = 'rules.test.pawl.dev'
const copyOf = (kind: Kind): Kind => ({ ...kind, group: GROUP, apiVersion: `${GROUP}/${kind.version}` })

/** The CRD as it was before there were rules. */
function former(definition: unknown): unknown {
  if (Array.isArray(definition)) return definition.map(former)
  if (typeof definition !== 'object' || definition === null) return definition
  const kept = Object.entries(definition).filter(([key]) => key !== 'x-kubernetes-validations' && key !== 'minLength')
  return Object.fromEntries(kept.map(([key, value]) => [key, former(value)]))
}

describe('an Installation that breaks rules since a time before them', () => {
  const kind = copyOf(installationKind)
  const { apiVersion, plural } = kind
  const definition = parse(crdDocument(kind)) as KubeObject
  const path = (subresource?: string) => resourcePath({ apiVersion, plural }, cluster.namespace, 'old', subresource)
  const patch = async (body: object, subresource?: string) =>
    await kube.request('PATCH', path(subresource), { body, contentType: 'application/merge-patch+json' })
  const BROKEN = {
    blueprint: { ...INLINE, ref: { resourceName: 'x' } },
    imports: {
      data: [
        { name: '', dataRef: 'x', secretRef: { name: '' } },
        { name: 'b', dataRef: 'x' },
      ],
      targets: [{ name: 'c', target: 'x', targets: [''] }],
    },
  }
  const NEW = { blueprint: { inline: { filesystem: { new: 'yes' } }, ref: { resourceName: 'x' } } }

  beforeAll(async () => {
    const name = `${plural}.${GROUP}`
    await kube.request('POST', DEFINITIONS, { body: former(definition) as object })
    await vi.waitFor(async () => await create(kind, 'old', BROKEN), { timeout: 30_000, interval: 200 })
    const stored = await kube.request<KubeObject>('GET', `${DEFINITIONS}/${name}`)
    await kube.request('PUT', `${DEFINITIONS}/${name}`, {
      body: { ...definition, metadata: { name, resourceVersion: stored.metadata.resourceVersion } },
    })
    // The API server takes a while to go by the new schema.
    await vi.waitFor(async () => expect(await refusedField(kind, BROKEN)).not.toBe('it was taken'), {
      ...{ timeout: 30_000, interval: 200 },
    })
  })
  afterAll(async () => {
    await kube.request('DELETE', `${DEFINITIONS}/${plural}.${GROUP}`)
  })

  it('can be worked with: status, annotations, other fields of its spec', async () => {
    await patch({ status: { phase: 'Init', jobID: 'one' } }, 'status')
    await patch({ metadata: { annotations: { 'landscaper.gardener.cloud/operation': 'reconcile' } } })
    await patch({ spec: { context: 'default' } })
    await patch({ spec: { exports: { data: [{ name: 'a', dataRef: 'x' }] } } })
  })

  it('is refused what is wrong in a field that is changed', async () => {
    await expect(patch({ spec: NEW })).rejects.toMatchObject({ status: 422 })
    await expect(patch({ spec: { imports: { data: [...BROKEN.imports.data, { name: 'd' }] } } })).rejects.toThrow(
      /spec\.imports\.data/,
    )
  })

  it('can be mended piece by piece', async () => {
    await patch({ spec: { blueprint: { ref: null } } })
    await patch({ spec: { imports: { data: [{ name: 'b', dataRef: 'x' }] } } })
  })

  it('can go', async () => {
    await kube.request('DELETE', path())
    await patch({ status: { phase: 'Deleting' } }, 'status')
    await patch({ metadata: { finalizers: null } })
    await expect(kube.request('GET', path())).rejects.toMatchObject({ status: 404 })
  })
})
