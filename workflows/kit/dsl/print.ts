// Prints a document in its usual form: binds, aliases, declarations, with one state section and one action section
// each. The inverse of `parse` except for positions.

import type { ActionDeclaration, Declaration, Document, Selector, StateDeclaration, Template } from './ast.ts'

/** The document as text. */
export function print({ binds, aliases, declarations }: Document): string {
  const parts = [
    binds.flatMap(({ doc, groupVersion, module }) => [...comment(doc), `bind ${groupVersion.text} ${module.text}`]),
    aliases.flatMap(({ doc, name, kind }) => [...comment(doc), `alias ${name.text} ${kind.text}`]),
    ...declarations.map(printDeclaration),
  ].filter((lines) => lines.length > 0)
  return parts.map((lines) => `${lines.join('\n')}\n`).join('\n')
}

function printDeclaration({ doc, name, target, mode, states, actions }: Declaration): string[] {
  const sections = [section('state', states.map(printState)), section('action', actions.map(printAction))]
  const body = sections.filter((lines) => lines.length > 0)
  const as = mode === undefined ? '' : ` as ${mode.text}`
  return [...comment(doc), `decl ${name.text} for ${target.text}${as} {`, ...indent(separated(body)), '}']
}

function section(keyword: string, members: readonly (readonly string[])[]): string[] {
  return members.length === 0 ? [] : [`${keyword} {`, ...indent(separated(members)), '}']
}

function printState({ doc, name, many, kind, selectors }: StateDeclaration): string[] {
  const open = `${name.text} ${many ? '[]' : ''}${kind.text} {`
  return [...comment(doc), open, ...indent(selectors.map(printSelector)), '}']
}

function printSelector({ key, value }: Selector): string {
  return value === undefined ? key.text : `${key.text}=${printTemplate(value)}`
}

function printAction({ doc, name, states }: ActionDeclaration): string[] {
  return [...comment(doc), `${name.text}(${states.map(({ text }) => text).join(', ')})`]
}

function printTemplate({ parts }: Template): string {
  const plain = parts.map((part) => ('text' in part ? part.text : `\${${part.reference}}`)).join('')
  const texts = parts.map((part) => ('text' in part ? part.text : '')).join('')
  if (plain !== '' && !/[\s{}"\\]/.test(texts) && !plain.startsWith('//')) return plain
  const escaped = parts.map((part) =>
    'text' in part ? part.text.replace(/["\\]/g, (sign) => `\\${sign}`) : `\${${part.reference}}`,
  )
  return `"${escaped.join('')}"`
}

function comment(doc: readonly string[]): string[] {
  return doc.map((line) => (line === '' ? '//' : `// ${line}`))
}

// An empty line between them, so that comments belong to the following statement.
function separated(blocks: readonly (readonly string[])[]): string[] {
  return blocks.flatMap((lines, index) => (index === 0 ? lines : ['', ...lines]))
}

function indent(lines: readonly string[]): string[] {
  return lines.map((line) => (line === '' ? '' : `  ${line}`))
}
