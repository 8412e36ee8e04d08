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

describe("types of Kubernetes' own kinds", () => {
  it('have texts where the client has dates, at any depth', () => {
    expectTypeOf<NonNullable<Job['status']>['completionTime']>().toEqualTypeOf<string | undefined>()
    expectTypeOf<Pod['metadata']['creationTimestamp']>().toEqualTypeOf<string>()
    type PodCondition = NonNullable<NonNullable<Pod['status']>['conditions']>[number]
    expectTypeOf<PodCondition['lastTransitionTime']>().toEqualTypeOf<string | undefined>()
  })

  it('say what kind they are, and where they live', () => {
    expectTypeOf<Job['kind']>().toEqualTypeOf<'Job'>()
    expectTypeOf<Job['apiVersion']>().toEqualTypeOf<'batch/v1'>()
    expectTypeOf<Pod['metadata']['namespace']>().toEqualTypeOf<string>()
    expectTypeOf<Node['metadata']>().not.toHaveProperty('namespace')
  })

  it('keep maps and lists, all of which can only be read', () => {
    expectTypeOf<NonNullable<Secret['data']>[string]>().toEqualTypeOf<string>()
    expectTypeOf<NonNullable<Pod['spec']>['containers']>().toExtend<readonly { readonly name: string }[]>()
    expectTypeOf<NonNullable<Pod['spec']>['containers']>().not.toHaveProperty('push')
  })

  it('can be handed to `remove`', () => {
    expectTypeOf<Job>().toExtend<ObservedObject>()
    expectTypeOf<Node>().toExtend<ObservedObject>()
  })
})

describe("the modules of Kubernetes' own kinds", () => {
  it('are there', () => {
    expect(modules.map(({ groupVersion }) => groupVersion)).toEqual(
      expect.arrayContaining(['v1', 'apps/v1', 'batch/v1']),
    )
  })

  it.each(modules)('$groupVersion names its kinds as the API server does', ({ groupVersion, text }) => {
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

  it.each(modules)('$groupVersion imports nothing but types', ({ text }) => {
    expect(text.match(/^import (?!type )/gm)).toBeNull()
  })
})
