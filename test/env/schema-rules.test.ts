// What the API server accepts without a webhook where no schema says it. test/worker/gen/reference-schema.test.ts compares the schemas with Landscaper's,
// test/env/fuzz-schema.test.ts sends values for each field, and test/workflows/landscaper/admission.test.ts tests the rules of the webhook.
// Source: spec/landscaper.md 5.3.

import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'

import type { KubeObject } from '../../activities/kube/client.ts'
import { resourcePath } from '../../activities/kube/resource-path.ts'
import type { Kind } from '../../workflows/kit/index.ts'
import { deployItemKind } from '../../workflows/landscaper/deploy-item/kind.ts'
import { executionKind } from '../../workflows/landscaper/execution/kind.ts'
import { installationKind } from '../../workflows/landscaper/installation/kind.ts'
import { Cluster, item } from '../support/cluster/cluster.ts'

const cluster = new Cluster(inject('servers').kubeconfigPath, 'schema-rules')
const { kube } = cluster
beforeAll(() => cluster.createNamespace())
afterAll(() => kube.close())

const pathOf = ({ apiVersion, plural }: Kind) => resourcePath({ apiVersion, plural }, cluster.namespace)
const create = async (kind: Kind, name: string, spec: object, query: Readonly<Record<string, string>> = {}) =>
  await kube.request<KubeObject>('POST', pathOf(kind), {
    body: { apiVersion: kind.apiVersion, kind: kind.kind, metadata: { name }, spec },
    query: { fieldValidation: 'Strict', ...query },
  })

const install = (spec: object) => ({ blueprint: { inline: { filesystem: {} } }, ...spec })
const many = <Entry>(count: number, entry: (index: number) => Entry) =>
  Array.from({ length: count }, (_, n) => entry(n))

describe('the CRDs without a webhook', () => {
  it.each<readonly [string, Kind, object]>([
    // As many as fit into an object: rules may not take more than the API server gives them.
    [
      'very many imports',
      installationKind,
      install({
        imports: {
          data: many(20_000, (n) => ({ name: `d${n}`, dataRef: 'x' })),
          targets: many(20_000, (n) => ({ name: `t${n}`, target: 'x' })),
        },
      }),
    ],
    ['very many items', executionKind, { deployItems: many(5000, (n) => item({ name: `i${n}` })) }],
    [
      'null in the maps that Landscaper does not describe',
      installationKind,
      install({ importDataMappings: { a: null }, exportDataMappings: { b: null } }),
    ],
  ])('accept %s', async (_, kind, spec) => {
    await create(kind, 'accepted', spec, { dryRun: 'All' })
  })

  it('refuse another type of a deploy item, as the webhook does', async () => {
    await create(deployItemKind, 'typed', { type: 'one' })
    const change = { body: { spec: { type: 'two' } }, contentType: 'application/merge-patch+json' }
    await expect(kube.request('PATCH', `${pathOf(deployItemKind)}/typed`, change)).rejects.toThrow(/spec\.type/)
  })
})
