// Prints the declarations of generated types (declarations.ts) as TypeScript, in the form that prettier gives them with
// this repository's settings.

import type {
  Declaration,
  Docs,
  InterfaceDeclaration,
  Member,
  TypeExpression,
  ValuesDeclaration,
} from './declarations.ts'

const WIDTH = 120
const INDENT = '  '

export function printDeclaration(declaration: Declaration): string {
  return declaration.is === 'interface' ? printInterface(declaration) : printValues(declaration)
}

/** An open interface also has an index signature: the API server keeps fields that the schema does not declare. */
function printInterface({ name, docs, members, isOpen }: InterfaceDeclaration): string {
  const lines = members.flatMap((member) => [...printDocs(member.docs, INDENT), printMember(member)])
  if (isOpen) lines.push(`${INDENT}readonly [key: string]: unknown`)
  return [...printDocs(docs, ''), `export interface ${name} {`, ...lines, '}'].join('\n')
}

/** A union of literals. Printed on one line if it fits, else on the line below the name, else with one line per value. */
function printValues({ name, docs, values }: ValuesDeclaration): string {
  const texts = values.map((value) => (typeof value === 'string' ? quoted(value) : String(value)))
  const head = `export type ${name} =`
  const short = texts.join(' | ')
  const forms = [`${head} ${short}`, `${head}\n${INDENT}${short}`]
  // Only the last line of a form can be too long: the head is short.
  const fitting = forms.find((form) => fits(form.slice(form.lastIndexOf('\n') + 1)))
  const long = [head, ...texts.map((text) => `${INDENT}| ${text}`)].join('\n')
  return [...printDocs(docs, ''), fitting ?? (texts.length > 1 ? long : `${head} ${short}`)].join('\n')
}

function printMember({ name, isOptional, type }: Member): string {
  const head = `${INDENT}readonly ${isIdentifier(name) ? name : quoted(name)}${isOptional ? '?' : ''}:`
  const flat = `${head} ${printType(type)}`
  if (fits(flat)) return flat
  // `readonly X[] | null`: prettier moves the union below the name, and prints one line per part if that is too long.
  if (isNullable(type) && type.parts[0].is === 'list') {
    const below = `${INDENT}${INDENT}${printType(type)}`
    return [head, ...(fits(below) ? [below] : type.parts.map((part) => `${INDENT}${INDENT}| ${printType(part)}`))].join(
      '\n',
    )
  }
  return `${head} ${printLong(type, INDENT, 0)}`
}

/** The type on one line. */
function printType(type: TypeExpression): string {
  switch (type.is) {
    case 'name':
      return type.name
    case 'union':
      return type.parts.map(printType).join(' | ')
    case 'list':
      return `readonly ${type.of.is === 'union' || type.of.is === 'list' ? `(${printType(type.of)})` : printType(type.of)}[]`
    case 'map':
      return `Readonly<Record<string, ${printType(type.of)}>>`
  }
}

/**
 * The type on one line if it has at most `room` characters, else on several lines, if it can be broken: only a map can,
 * between its angle brackets. The first line has no indentation; further lines have at least `indent`.
 *
 * @param room 0: never on one line, if it can be broken.
 */
function printLong(type: TypeExpression, indent: string, room: number): string {
  const flat = printType(type)
  if (flat.length <= room) return flat
  if (isNullable(type)) return `${printLong(type.parts[0], indent, 0)} | null`
  if (type.is === 'list' && type.of.is === 'map') return `readonly ${printLong(type.of, indent, 0)}[]`
  if (type.is !== 'map') return flat
  const inner = `${indent}${INDENT}`
  const record = `Record<string, ${printType(type.of)}>`
  const value = `${inner}${INDENT}${printLong(type.of, `${inner}${INDENT}`, WIDTH - inner.length - INDENT.length)}`
  // The last statement indents each element of `body`. The first line of `value` is indented already, so it is cut
  // here; the further lines of `value` belong to the same element and keep their indentation.
  const body = fits(inner + record) ? [record] : ['Record<', `${INDENT}string,`, value.slice(inner.length), '>']
  return ['Readonly<', ...body.map((line) => inner + line), `${indent}>`].join('\n')
}

/** Whether the type is a union of one type and null, in this order. */
function isNullable(
  type: TypeExpression,
): type is { readonly is: 'union'; readonly parts: readonly [TypeExpression, TypeExpression] } {
  const last = type.is === 'union' && type.parts.length === 2 ? type.parts[1] : undefined
  return last?.is === 'name' && last.name === 'null'
}

/** A JSDoc comment. Empty without a description. */
function printDocs({ description = '', defaultValue, deprecated }: Docs, indent: string): string[] {
  const texts = [
    ...description.split(/\r\n?|\n/),
    ...(defaultValue === undefined ? [] : [`@defaultValue ${defaultValue}`]),
    ...(deprecated === undefined ? [] : [`@deprecated ${deprecated.replaceAll(/\s+/g, ' ')}`]),
  ]
  const width = WIDTH - indent.length - ' * '.length
  const lines = trimmed(texts.flatMap((text) => wrapped(text.replaceAll('*/', '*\\/'), width)))
  const [only] = lines
  if (only === undefined) return []
  if (lines.length === 1 && fits(`${indent}/** ${only} */`)) return [`${indent}/** ${only} */`]
  return [`${indent}/**`, ...lines.map((line) => `${indent} * ${line}`.trimEnd()), `${indent} */`]
}

/** Wraps a long line at spaces. Continuation lines get the same indentation. */
function wrapped(text: string, width: number): string[] {
  const line = text.trimEnd()
  if (line.length <= width) return [line]
  const margin = /^ */.exec(line)?.[0] ?? ''
  const lines: string[] = []
  let last = ''
  for (const word of line.trimStart().split(' ')) {
    const longer = last === '' ? margin + word : `${last} ${word}`
    if (longer.length > width && last !== '') {
      lines.push(last)
      last = margin + word
    } else last = longer
  }
  return [...lines, last]
}

function trimmed(lines: readonly string[]): readonly string[] {
  const isText = (line: string) => line !== ''
  return lines.slice(lines.findIndex(isText), lines.findLastIndex(isText) + 1)
}

function quoted(text: string): string {
  const inside = JSON.stringify(text).slice(1, -1)
  // Prefers the quote that needs fewer backslashes, then the single quote.
  const [singles, doubles] = [text.split("'").length, text.split('"').length]
  return singles > doubles ? `"${inside}"` : `'${inside.replaceAll('\\"', '"').replaceAll("'", "\\'")}'`
}

function isIdentifier(name: string): boolean {
  return /^[A-Za-z_$][\w$]*$/.test(name)
}

function fits(line: string): boolean {
  return line.length <= WIDTH
}
