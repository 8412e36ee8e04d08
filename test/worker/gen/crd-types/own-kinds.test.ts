// The types that Pawl generates from its own CRDs must equal the types that TypeScript infers from kind.ts.

import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'

import { crdFileName } from '../../../../worker/gen/crd.ts'
import { readKindFolders } from '../../../../worker/server/kind-folders.ts'
import { crdModule } from '../../../../worker/gen/crd-types/crd-module.ts'
import type { Kind } from '../../../../workflows/kit/index.ts'
import { compilerErrors } from '../../../support/compiler/compiler-errors.ts'

const ROOT = join(import.meta.dirname, '../../../..')
const folders = await readKindFolders(ROOT)
const kinds = await Promise.all(
  folders.flatMap(({ wing, folder, kinds: found }) =>
    found.map(async (kind) => ({
      kind,
      value: await exportedName(folder, kind),
      from: `../../workflows/${folder}/kind.ts`,
      crd: await readFile(join(ROOT, 'deploy/crds', wing, crdFileName(kind)), 'utf8'),
    })),
  ),
)

describe("the types generated from Pawl's CRDs", () => {
  it('equal the types of kind.ts field by field, and are assignable in both directions', { timeout: 60_000 }, () => {
    expect(kinds.length).toBeGreaterThan(10)
    expect(compilerErrors(new Map(kinds.flatMap((own) => modulesOf(own))))).toEqual([])
  })

  it('are reported as different when a field is lost or has another type', { timeout: 60_000 }, () => {
    const changes = [
      ['an optional field is lost', '                phase:', '                phases:'],
      ['a field has another type', 'type: boolean', 'type: integer'],
      ['a required field becomes optional', '                - type\n', '                - target\n'],
      ['no unknown fields are preserved', 'x-kubernetes-preserve-unknown-fields: true', 'maxProperties: 5'],
    ] as const
    const item = kinds.find(({ kind }) => kind.kind === 'DeployItem')!
    const modules = changes.flatMap(([what, before, after]) => {
      expect(item.crd).toContain(before)
      return modulesOf({ ...item, crd: item.crd.replace(before, after) }, what)
    })
    const different = "same-DeployItem.ts: Type 'true' is not assignable to type 'false'."
    const errors = compilerErrors(new Map(modules))
    for (const [what] of changes) expect(errors).toContain(`in-memory/${what}/${different}`)
  })
})

interface OwnKind {
  readonly kind: Kind
  readonly value: string
  readonly from: string
  readonly crd: string
}

// Any JSON is `JsonValue` in kind.ts and `unknown` in generated types, and a generated apiVersion is a literal. Both are
// put aside here, and an object without fields is a map without values; all else must be identical, because a lost optional field is assignable both ways.
const SHAPES = `
import type { JsonValue, ObjectOf } from '../../workflows/kit/index.ts'
type Shape<T> = unknown extends T ? 'any' : JsonValue extends T ? 'any'
  : T extends readonly (infer Item)[] ? readonly Shape<Item>[]
  : T extends object ? [keyof T] extends [never] ? { map: never } : string extends keyof T ? (T extends { apiVersion: string } ? 'embedded' : { map: Shape<T[string]> })
    : { [Key in keyof T]: Shape<T[Key]> }
  : T
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
type Loose<T> = unknown extends T ? unknown : JsonValue extends T ? unknown
  : T extends object ? { readonly [Key in keyof T]: Loose<T[Key]> } : T
type Body<T> = Omit<T, 'apiVersion'>
`

/** The generated types of a kind, and a module that compares them, by path. */
function modulesOf({ kind: { kind }, value, from, crd }: OwnKind, folder = 'all'): [string, string][] {
  const comparison = `${SHAPES}
import type { ${kind} } from './${kind}.ts'
import type { ${value} } from '${from}'
type Own = ObjectOf<typeof ${value}>
export const same: Same<Shape<Body<${kind}>>, Shape<Body<Own>>> = true
export const there = (own: Body<Own>): Body<${kind}> => own
export const back = (generated: ${kind}): Loose<Own> => generated
`
  return [
    [`in-memory/${folder}/${kind}.ts`, typesOf(crd)],
    [`in-memory/${folder}/same-${kind}.ts`, comparison],
  ]
}

function typesOf(crd: string): string {
  const module = crdModule(crd, { file: 'own.yaml', version: undefined })
  if ('problems' in module) throw new Error(JSON.stringify(module.problems))
  return module.text
}

async function exportedName(folder: string, kind: Kind): Promise<string> {
  const module = (await import(join(ROOT, 'workflows', folder, 'kind.ts'))) as Record<string, unknown>
  const name = Object.keys(module).find((key) => module[key] === kind)
  if (name === undefined) throw new Error(`${folder}/kind.ts does not export ${kind.kind}`)
  return name
}
