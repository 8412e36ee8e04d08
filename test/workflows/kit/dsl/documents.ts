// Documents shared by the tests of the DSL.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import { compile, type CompileOptions, type KindLookup } from '../../../../workflows/kit/dsl/index.ts'

/** A document of golden/, by its name. */
export const golden = (name: string): string => readFileSync(join(import.meta.dirname, 'golden', name), 'utf8')

/** The example of seeds/ctrlkit-rfc.txt, word for word but for its modules, which are TypeScript's. */
export const RFC_DOCUMENT = golden('rfc.cm')

/** Everything that the language has. */
export const FULL_DOCUMENT = golden('everything.cm')

/** Controllers of all modes. */
export const MODES_DOCUMENT = golden('modes.cm')

/** What the tests know of the kinds: one schema for the targets, the selectable field of pods, and that nodes are in no namespace. */
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

function facts(known: { selectableFields?: readonly string[]; isNamespaced?: boolean }): ReturnType<KindLookup> {
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
    ...known,
  }
}

export const OPTIONS: CompileOptions = { source: 'controller.cm', kit: '../kit/index.ts', lookup }

/** `line:column code message` of each diagnostic. */
export function problems(text: string, options: CompileOptions = OPTIONS): readonly string[] {
  return compile(text, options).diagnostics.map(({ at, code, message }) => `${at.line}:${at.column} ${code} ${message}`)
}
