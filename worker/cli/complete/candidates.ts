// Computes the candidates for the last word of a command line: known words, or a request for names of objects or items.
// Pure.

import type { Command } from 'commander'

import { isComplete, splitWords } from '../query/object-name.ts'
import { namesOf } from './names-of.ts'

export interface CommandShape {
  readonly commands: readonly string[]
  readonly options: readonly ShapeOption[]
  /** Meaning of the first argument. */
  readonly argument: 'object' | 'kind' | undefined
  /** The command, if names of items may follow the object. */
  readonly items: string | undefined
  /** The kind whose names the first argument has. */
  readonly namesOf: string | undefined
}

interface ShapeOption {
  readonly names: readonly string[]
  readonly takesValue: boolean
  /** All values, if the option has a closed list. */
  readonly values: readonly string[]
  /** The kind whose names the value has. */
  readonly namesOf: string | undefined
}

export function commandShape(command: Command): CommandShape {
  const [argument] = command.registeredArguments
  const first = argument?.name() ?? ''
  return {
    commands: command.commands.map((child) => child.name()),
    options: command.options.map((option) => {
      const { long, short, required, description } = option
      return {
        names: [long, short].filter((name): name is string => name !== undefined),
        takesValue: required,
        values: long === '--output' || long === '--format' ? description.split(', ') : [],
        namesOf: namesOf(option),
      }
    }),
    argument: (['object', 'kind'] as const).find((word) => first.startsWith(word)),
    items: first === 'object-items' ? command.name() : undefined,
    namesOf: argument && namesOf(argument),
  }
}

interface Candidates {
  readonly words: readonly string[]
  /** Requests names of objects of this kind, with this prefix. */
  readonly objects?: { readonly kind: string; readonly prefix: string }
  /** Requests names of items of this object, except those already given. */
  readonly items?: { readonly object: readonly string[]; readonly command: string; readonly exclude: readonly string[] }
  /** Given flags by their long names. */
  readonly flags: Readonly<Record<string, string>>
}

/** @param words after the command; the last is the word at the cursor and may be empty. @param kinds names of kinds. */
export function candidatesFor(shape: CommandShape, words: readonly string[], kinds: readonly string[]): Candidates {
  const current = words.at(-1) ?? ''
  const { flags, positional, open } = readWords(shape, words.slice(0, -1))
  const fitting = (all: readonly string[]) => all.filter((word) => word.startsWith(current))
  if (open?.namesOf !== undefined) return { words: [], objects: { kind: open.namesOf, prefix: '' }, flags }
  if (open !== undefined) return { words: fitting(open.values), flags }
  const [, name] = /^(--[^=]+)=/.exec(current) ?? []
  if (name !== undefined) {
    const values = shape.options.find(({ names }) => names.includes(name))?.values ?? []
    return { words: fitting(values.map((one) => `${name}=${one}`)), flags }
  }
  if (current.startsWith('-')) return { words: fitting(shape.options.flatMap(({ names }) => names.slice(0, 1))), flags }
  return { ...argumentCandidates(shape, positional, { current, kinds }), flags }
}

function argumentCandidates(
  { commands, argument, items, namesOf: kindOfNames }: CommandShape,
  positional: readonly string[],
  { current, kinds }: { readonly current: string; readonly kinds: readonly string[] },
): Omit<Candidates, 'flags'> {
  const fitting = (all: readonly string[]) => ({ words: all.filter((word) => word.startsWith(current)) })
  if (kindOfNames !== undefined)
    return { words: [], ...(positional.length === 0 && { objects: { kind: kindOfNames, prefix: '' } }) }
  const [object, names] = splitWords(positional)
  if (isComplete(object))
    return { words: [], ...(items !== undefined && { items: { object, command: items, exclude: names } }) }
  const [first] = object
  const [kind = '', rest] = (first ?? current).split('/')
  if (first !== undefined) return argument === 'object' ? { words: [], objects: { kind, prefix: '' } } : { words: [] }
  if (argument === 'kind') return fitting(kinds)
  if (argument === undefined) return fitting(commands)
  return rest === undefined
    ? fitting(kinds.map((one) => `${one}/`))
    : { words: [], objects: { kind, prefix: `${kind}/` } }
}

function readWords({ options }: CommandShape, words: readonly string[]) {
  const flags: Record<string, string> = {}
  const positional: string[] = []
  let open: ShapeOption | undefined
  for (const word of words) {
    if (open !== undefined) {
      flags[open.names[0] ?? ''] = word
      open = undefined
    } else if (word.startsWith('-')) {
      const [name = '', value] = word.split('=', 2)
      const option = options.find(({ names }) => names.includes(name))
      if (option?.takesValue !== true) continue
      if (value === undefined) open = option
      else flags[option.names[0] ?? ''] = value
    } else positional.push(word)
  }
  return { flags, positional, open }
}

/** Only words that need no quotes in a shell. */
export function withoutQuoting(words: readonly string[]): readonly string[] {
  return [...new Set(words)].filter((word) => /^[\w./:@=-]+$/.test(word)).sort()
}
