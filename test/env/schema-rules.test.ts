// What the CRDs accept without a webhook: everything that Landscaper's CRDs accept (test/worker/gen/reference-schema.test.ts compares them). The webhook
// refuses the same objects with the field, and jobs report them (test/e2e/bad-input.test.ts). Source: spec/landscaper.md 5.3.

import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'

import type { KubeObject } from '../../activities/kube/client.ts'
import { resourcePath } from '../../activities/kube/resource-path.ts'
import { ADMISSIONS } from '../../workflows/admission.gen.ts'
import type { Kind } from '../../workflows/kit/index.ts'
import { deployItemKind } from '../../workflows/landscaper/deploy-item/kind.ts'
import { executionKind } from '../../workflows/landscaper/execution/kind.ts'
import { installationKind } from '../../workflows/landscaper/installation/kind.ts'
import { Cluster, item } from '../support/cluster/cluster.ts'

const cluster = new Cluster(inject('servers').kubeconfigPath, 'schema-rules')
const { kube } = cluster
beforeAll(() => cluster.createNamespace())
afterAll(() => kube.close())

const DRY = { query: { dryRun: 'All', fieldValidation: 'Strict' } }

async function create(kind: Kind, name: string, spec: object): Promise<KubeObject> {
  const { apiVersion, plural } = kind
  const body = { apiVersion, kind: kind.kind, metadata: { name }, spec }
  return await kube.request<KubeObject>('POST', resourcePath({ apiVersion, plural }, cluster.namespace), {
    body,
    ...DRY,
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

describe('the CRDs without a webhook', () => {
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
    [installationKind, install({ exports: { targets: [{ name: 'a' }] } }), 'spec.exports.targets[0].target'],
    [executionKind, items(item({ name: '' })), 'spec.deployItems[0].name'],
    [executionKind, items({ ...item({ name: 'a' }), type: '' }), 'spec.deployItems[0].type'],
    [
      executionKind,
      items({ ...item({ name: 'a' }), target: { name: '', namespace: 'n' } }),
      'spec.deployItems[0].target.name',
    ],
    [deployItemKind, { type: 't', target: { name: '', namespace: 'n' } }, 'spec.target.name'],
    [deployItemKind, { type: '' }, 'spec.type'],
  ])('accept what Landscaper stores and only the webhook refuses, with the field: %#', async (kind, spec, field) => {
    await create(kind, 'accepted', spec)
    expect(admissionProblems(kind, spec)).toEqual([field])
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
    await create(kind, 'taken', spec)
    expect(admissionProblems(kind, spec)).toEqual([])
  })

  it('accept null in the maps that Landscaper does not describe', async () => {
    await create(
      installationKind,
      'accepted',
      install({ importDataMappings: { a: null }, exportDataMappings: { b: null } }),
    )
  })

  it('refuse another type of a deploy item, as the webhook does', async () => {
    const { apiVersion, plural } = deployItemKind
    const path = resourcePath({ apiVersion, plural }, cluster.namespace)
    const body = { apiVersion, kind: 'DeployItem', metadata: { name: 'typed' }, spec: { type: 'one' } }
    await kube.request('POST', path, { body })
    const change = { body: { spec: { type: 'two' } }, contentType: 'application/merge-patch+json' }
    await expect(kube.request('PATCH', `${path}/typed`, change)).rejects.toThrow(/spec\.type/)
  })
})
