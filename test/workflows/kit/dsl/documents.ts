// Documents shared by the tests of the DSL.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import { compile, type CompileOptions, type KindLookup } from '../../../../workflows/kit/dsl/index.ts'

/** A document of golden/, by its name. */
export const golden = (name: string): string => readFileSync(join(import.meta.dirname, 'golden', name), 'utf8')

/** The example of the RFC of ctrlkit (seeds/ctrlkit-rfc.txt); only its `bind` statements differ: they name TypeScript modules instead of Go packages. */
export const RFC_DOCUMENT = golden('rfc.cm')

/** Uses every construct of the language. */
export const FULL_DOCUMENT = golden('everything.cm')

/** Controllers of all modes. */
export const MODES_DOCUMENT = golden('modes.cm')

/** The schemas of the kinds: Pod, Node and CronJob have the same fields. Pods have selectable fields, and Nodes have no namespace. Other kinds are unknown. */
export const lookup: KindLookup = ({ kind }) => {
  if (kind === 'Pod') return facts({ selectableFields: ['spec.nodeName', 'status.phase'] })
  if (kind === 'Node') return facts({ isNamespaced: false })
  return kind === 'CronJob' ? facts({}) : undefined
}

const FIELDS: Readonly<Record<string, 'text' | 'other' | 'anything'>> = {
  spec: 'other',
  'spec.node': 'text',
  'spec.suspend': 'other',
  'spec.template': 'anything',
  'spec.template.kind': 'anything',
}

function facts(overrides: { selectableFields?: readonly string[]; isNamespaced?: boolean }): ReturnType<KindLookup> {
  return {
    fieldAt: (path) => FIELDS[path.join('.')],
    namesBelow: (path) =>
      Object.keys(FIELDS).flatMap((field) => {
        const names = field.split('.')
        const isBelow = names.length === path.length + 1 && field.startsWith(path.join('.'))
        return isBelow ? (names.at(-1) ?? []) : []
      }),
    selectableFields: [],
    isNamespaced: true,
    ...overrides,
  }
}

export const OPTIONS: CompileOptions = { source: 'controller.cm', kit: '../kit/index.ts', lookup }

/** `line:column code message` of each diagnostic. */
export function problems(text: string, options: CompileOptions = OPTIONS): readonly string[] {
  return compile(text, options).diagnostics.map(({ at, code, message }) => `${at.line}:${at.column} ${code} ${message}`)
}
