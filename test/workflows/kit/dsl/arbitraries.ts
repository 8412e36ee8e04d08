// fast-check arbitraries of controller documents: any document of the grammar, and documents that the checks accept.

import fc from 'fast-check'

import type { Document, Name, Selector, Template, TemplatePart } from '../../../../workflows/kit/dsl/ast.ts'

const at = { offset: 0, line: 1, column: 1, length: 0 }
const named = (text: string): Name => ({ text, at })

const word = fc
  .stringMatching(/^[^\s"{}(),=[\]]{1,12}$/)
  .filter((text) => !text.startsWith('//') && !text.startsWith('${'))
  .map(named)

const docLine = fc.stringMatching(/^[^\r\n]{0,20}$/).map((line) => line.trimEnd())
const doc = fc.array(docLine, { maxLength: 3 })

const literal = fc
  .stringMatching(/^[^\r\n]{1,8}$/)
  .filter((text) => !text.includes('${'))
  .map((text): TemplatePart => ({ text }))
const reference = fc.stringMatching(/^[^\s{}"]{0,10}$/).map((text): TemplatePart => ({ reference: text, at }))

// No adjacent literals: the parser merges them, and `$` before `{` would start a reference.
const template = fc
  .array(fc.oneof(literal, reference), { maxLength: 4 })
  .filter((parts) => parts.every((part, index) => 'reference' in part || !('text' in (parts[index + 1] ?? {}))))
  .map((parts): Template => ({ parts, at }))

const selector = fc.record({ key: word, value: fc.option(template, { nil: undefined }) })

/** Any document of the grammar, including documents that the checks reject. */
export const anyDocument: fc.Arbitrary<Document> = fc.record({
  binds: fc.array(fc.record({ doc, groupVersion: word, module: word }), { maxLength: 3 }),
  aliases: fc.array(fc.record({ doc, name: word, kind: word }), { maxLength: 3 }),
  declarations: fc.array(
    fc.record({
      doc,
      name: word,
      target: word,
      mode: fc.option(word, { nil: undefined }),
      states: fc.array(
        fc.record({ doc, name: word, many: fc.boolean(), kind: word, selectors: fc.array(selector, { maxLength: 4 }) }),
        { maxLength: 3 },
      ),
      actions: fc.array(fc.record({ doc, name: word, states: fc.array(word, { maxLength: 3 }) }), { maxLength: 3 }),
    }),
    { maxLength: 3 },
  ),
})

/** The document without source positions. */
export function withoutPlaces(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutPlaces)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).filter(([key]) => key !== 'at')
  return Object.fromEntries(entries.map(([key, found]) => [key, withoutPlaces(found)]))
}

const LENGTHS = [1, 3, 4, 5, 8, 14, 20, 26, 30, 36, 44, 52, 63]
const length = fc.oneof(fc.constantFrom(...LENGTHS), fc.integer({ min: 1, max: 63 }))

// Unique names of any length.
const names = (prefix: string, most: number) =>
  fc
    .array(length, { maxLength: most })
    .map((lengths) => lengths.map((size, index) => `${prefix}${index}`.padEnd(Math.max(2, size), 'x')))

const value = (min: number, max: number) =>
  fc
    .tuple(fc.constantFrom('', '${target.Name}', '${target.metadata.uid}'), fc.integer({ min, max }))
    .map(([found, size]) => valueOf(found, 'v'.repeat(size)))

function valueOf(found: string, text: string): Template {
  const parts: TemplatePart[] = found === '' ? [] : [{ reference: found.slice(2, -1), at }]
  return { parts: text === '' ? parts : [...parts, { text }], at }
}

const labels = fc
  .array(fc.tuple(fc.constantFrom('a', 'name', 'label', 'a-b', 'example.com/part-of', 'x.y'), value(0, 60)), {
    maxLength: 4,
  })
  .map((pairs) => [...new Map(pairs)].map(([key, found]): Selector => ({ key: named(`labels/${key}`), value: found })))
const flags = fc
  .subarray(['owned', 'fresh'])
  .map((keys) => keys.map((key): Selector => ({ key: named(key), value: undefined })))

// In mode job, states must be owned and can only be selected by name or labels.
const isOfJobs = ({ key: { text } }: Selector) => text === 'name' || text.startsWith('labels/')
const fitting = (mode: string | undefined, selectors: readonly Selector[]) =>
  mode === undefined || mode === 'level'
    ? selectors
    : [...selectors.filter(isOfJobs), { key: named('owned'), value: undefined }]
const byName = value(1, 150).map((found): Selector[] => [{ key: named('name'), value: found }])
const quoted = fc.constantFrom(`it's`, 'a"b', `'"\\'`, 'c d').map((text) => valueOf('', text))
const controller = fc
  .option(fc.oneof(value(1, 150), quoted), { nil: undefined })
  .map((found): Selector[] => (found === undefined ? [] : [{ key: named('fields/metadata.controller'), value: found }]))

const plain = (key: string, text: string): Selector => ({
  key: named(key),
  value: { parts: text === '' ? [] : [{ text }], at },
})
const paths = fc
  .tuple(
    fc.constantFrom(undefined, 'metadata.labels', 'spec.template'),
    fc.constantFrom(undefined, 'spec.template'),
    fc.option(
      fc.subarray([
        'spec.node',
        'metadata.labels.app.kubernetes.io/name',
        `metadata.labels.a.example.com/${'k'.repeat(60)}`,
      ]),
      {
        nil: undefined,
      },
    ),
  )
  .map(([labelsFrom, namespacesFrom, pick]): Selector[] => [
    ...(labelsFrom === undefined ? [] : [plain('labelsFrom', labelsFrom)]),
    ...(namespacesFrom === undefined ? [] : [plain('namespacesFrom', namespacesFrom)]),
    ...(pick === undefined ? [] : [plain('pick', pick.join(','))]),
  ])

const one = fc.record({ many: fc.constant(false), selectors: fc.tuple(byName, flags).map((found) => found.flat()) })
const many = fc.record({
  many: fc.constant(true),
  selectors: fc.tuple(labels, controller, paths, flags).map((found) => found.flat()),
})

const goodDoc = fc.array(
  fc.constantFrom('', 'Does it.', 'Ends */ here.', 'x'.repeat(130), '  indented', '@deprecated'),
  { maxLength: 3 },
)

const aliasNames = ['Job', `Pod${'y'.repeat(40)}`, `Zed${'y'.repeat(60)}`]

const mode = fc.constantFrom(undefined, 'level', 'job')

const declaration = fc
  .tuple(length, fc.constantFrom(...aliasNames), names('s', 4), names('Act', 4), goodDoc, mode)
  .chain(([size, target, stateNames, actionNames, documentation, runsAs]) =>
    fc.record({
      doc: fc.constant(documentation),
      name: fc.constant(named('Controller'.slice(0, size).padEnd(size, 'r'))),
      target: fc.constant(named(target)),
      mode: fc.constant(runsAs === undefined ? undefined : named(runsAs)),
      states: fc.tuple(
        ...stateNames.map((name) =>
          fc
            .tuple(fc.oneof(one, many), fc.constantFrom(...aliasNames), goodDoc)
            .map(([{ many: isMany, selectors }, kind, lines]) => ({
              doc: lines,
              name: named(name),
              kind: named(kind),
              many: isMany,
              selectors: fitting(runsAs, selectors),
            })),
        ),
      ),
      actions: fc.tuple(
        ...actionNames.map((name) =>
          fc
            .tuple(fc.subarray(stateNames), goodDoc)
            .map(([asked, lines]) => ({ doc: lines, name: named(name), states: asked.map(named) })),
        ),
      ),
    }),
  )

/** A document without mistakes, with names of all lengths. */
export const rightDocument: fc.Arbitrary<Document> = fc.record({
  binds: fc.constantFrom('./kinds.ts', `./${'deep/'.repeat(20)}kinds.ts`).map((module) => [
    { doc: [], groupVersion: named('demo/v1'), module: named(module) },
    { doc: [], groupVersion: named('v1'), module: named('./core.ts') },
  ]),
  aliases: fc.constant(
    aliasNames.map((name, index) => ({
      doc: [],
      name: named(name),
      kind: named(index === 1 ? 'v1/Pod' : `demo/v1/${name.slice(0, 3)}`),
    })),
  ),
  declarations: fc.array(declaration, { minLength: 0, maxLength: 1 }),
})
