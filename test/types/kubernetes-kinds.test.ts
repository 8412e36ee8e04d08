import { readdir, readFile } from 'node:fs/promises'
import { join, sep } from 'node:path'
import type { Job } from 'pawl/kit/batch/v1'
import type { Node, Pod, Secret } from 'pawl/kit/v1'
import { describe, expect, expectTypeOf, it } from 'vitest'

import type { ObservedObject } from '../../workflows/kit/index.ts'
import { isWithoutNamespace, kubernetesPlural } from '../../workflows/kit/kind/group-kind.ts'
import { kubernetesFacts } from '../../worker/gen/controller/kubernetes-kinds.ts'

const FOLDER = join(import.meta.dirname, '../../workflows/kit/kind/kubernetes')
const names = (await readdir(FOLDER, { recursive: true })).filter((name) => name.endsWith('.ts'))
const modules = await Promise.all(
  names.map(async (name) => ({
    groupVersion: name.slice(0, -'.ts'.length).split(sep).join('/'),
    text: await readFile(join(FOLDER, name), 'utf8'),
  })),
)

describe("the types of Kubernetes' built-in kinds", () => {
  it('have strings where the Kubernetes client has dates, at any depth', () => {
    expectTypeOf<NonNullable<Job['status']>['completionTime']>().toEqualTypeOf<string | undefined>()
    expectTypeOf<Pod['metadata']['creationTimestamp']>().toEqualTypeOf<string>()
    type PodCondition = NonNullable<NonNullable<Pod['status']>['conditions']>[number]
    expectTypeOf<PodCondition['lastTransitionTime']>().toEqualTypeOf<string | undefined>()
  })

  it('have literal kinds and API versions, and a namespace only for namespaced kinds', () => {
    expectTypeOf<Job['kind']>().toEqualTypeOf<'Job'>()
    expectTypeOf<Job['apiVersion']>().toEqualTypeOf<'batch/v1'>()
    expectTypeOf<Pod['metadata']['namespace']>().toEqualTypeOf<string>()
    expectTypeOf<Node['metadata']>().not.toHaveProperty('namespace')
  })

  it('have maps and read-only lists', () => {
    expectTypeOf<NonNullable<Secret['data']>[string]>().toEqualTypeOf<string>()
    expectTypeOf<NonNullable<Pod['spec']>['containers']>().toExtend<readonly { readonly name: string }[]>()
    expectTypeOf<NonNullable<Pod['spec']>['containers']>().not.toHaveProperty('push')
  })

  it('are accepted by `remove`', () => {
    expectTypeOf<Job>().toExtend<ObservedObject>()
    expectTypeOf<Node>().toExtend<ObservedObject>()
  })
})

describe("the modules of Kubernetes' built-in kinds", () => {
  it('exist for v1, apps/v1 and batch/v1', () => {
    expect(modules.map(({ groupVersion }) => groupVersion)).toEqual(
      expect.arrayContaining(['v1', 'apps/v1', 'batch/v1']),
    )
  })

  it.each(modules)('use in $groupVersion the kind names and scopes of the API server', ({ groupVersion, text }) => {
    const kinds = [
      ...text.matchAll(/^export type (\w+) = Stored(Cluster)?Object<\s*\w+,\s*'([^']+)',\s*'(\w+)'\s*>$/gm),
    ]
    expect(kinds.length).toBe(text.match(/\bexport\b/g)?.length)
    for (const [, type, cluster, apiVersion, kind] of kinds) {
      expect([kind, apiVersion]).toEqual([type, groupVersion])
      expect([kind, kubernetesPlural(groupVersion, kind ?? '')]).toEqual([kind, expect.any(String)])
      expect([kind, isWithoutNamespace(groupVersion, kind ?? '')]).toEqual([kind, cluster !== undefined])
      expect([kind, kubernetesFacts(groupVersion, kind ?? '')?.isNamespaced]).toEqual([kind, cluster === undefined])
    }
  })

  it.each(modules)('import only types in $groupVersion', ({ text }) => {
    expect(text.match(/^import (?!type )/gm)).toBeNull()
  })
})
