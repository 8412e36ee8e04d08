// The pages docs/reference/errors-*.md explain each code that code can put before a user. TypeScript's parser finds the codes: arguments of the functions that make faults and
// failures, and the properties `code`, `reason` and `codes` of object literals.

import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { describe, expect, it } from 'vitest'
import { firstColumn, links, section } from './markdown.ts'

const MAKERS = new Set(['fail', 'retryLater', 'finalFailure', 'retryableFailure', 'oneFault', 'BlueprintError'])
// Their first argument is the operation, the reason and codes follow.
const DEPLOY_MAKERS = new Set(['DeployError', 'configurationProblem'])
const PROPERTIES = new Set(['code', 'reason', 'codes', 'errorCodes'])
// One word in CamelCase or an ERR_ constant; texts for people have blanks.
const CODE = /^(?:ERR_[A-Z_]+|[A-Z]+[a-z]+(?:[A-Z][a-z]*)*)$/

/** Codes that a module can produce. */
function codesIn(path: string, text: string): ReadonlySet<string> {
  const found = new Set<string>()
  const collect = (node: ts.Node): void => {
    if (ts.isStringLiteral(node) && CODE.test(node.text)) found.add(node.text)
    ts.forEachChild(node, collect)
  }
  const visit = (node: ts.Node): void => {
    for (const argument of codeArguments(node)) collect(argument)
    if ((ts.isPropertyAssignment(node) || ts.isVariableDeclaration(node)) && PROPERTIES.has(node.name.getText())) {
      if (node.initializer !== undefined && !ts.isArrowFunction(node.initializer)) collect(node.initializer)
    }
    ts.forEachChild(node, visit)
  }
  visit(ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true))
  return found
}

/** The arguments of a call that hold codes. */
function codeArguments(node: ts.Node): readonly ts.Node[] {
  if (!ts.isCallExpression(node) && !ts.isNewExpression(node)) return []
  const maker = node.expression.getText()
  const [first, ...rest] = node.arguments ?? []
  if (MAKERS.has(maker) && first !== undefined) return [first]
  return DEPLOY_MAKERS.has(maker) ? rest : []
}

/** Codes of all modules below the folders. */
async function codesBelow(root: string, folders: readonly string[]): Promise<ReadonlySet<string>> {
  const found = new Set<string>()
  for (const folder of folders) {
    const entries = await readdir(join(root, folder), { withFileTypes: true, recursive: true })
    for (const entry of entries) {
      if (!entry.isFile() || !entry.name.endsWith('.ts')) continue
      const path = join(entry.parentPath, entry.name)
      for (const code of codesIn(path, await readFile(path, 'utf8'))) found.add(code)
    }
  }
  return found
}

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const REFERENCE = `${ROOT}/docs/reference`
const index = await readFile(`${REFERENCE}/errors.md`, 'utf8')
const areas = (await readdir(REFERENCE)).filter((name) => /^errors-.*\.md$/.test(name))
const pages = await Promise.all(areas.map(async (name) => await readFile(`${REFERENCE}/${name}`, 'utf8')))
const explained = pages.flatMap(firstColumn)
const produced = await codesBelow(ROOT, ['workflows', 'activities', 'worker/reconciler', 'worker/node-agent'])
const answers = new Set(
  firstColumn(section(pages[areas.indexOf('errors-engine.md')] ?? '', '## Answers of the API server')),
)
const conditions = firstColumn(section(await readFile(`${REFERENCE}/conditions.md`, 'utf8'), '## Reasons'))
const codes = firstColumn(section(index, '## Codes'))

describe('the tables of errors', () => {
  it('explains every code that the code produces', () => {
    const known = new Set([...explained, ...conditions, ...codes])
    expect([...produced].filter((code) => !known.has(code))).toEqual([])
  })

  it('explains no code that nothing produces', () => {
    const own = explained.filter((code) => !answers.has(code))
    expect([...own, ...conditions, ...codes].filter((code) => !produced.has(code))).toEqual([])
  })

  it('explains each code once', () => {
    const all = [...explained, ...conditions]
    expect(all.filter((code, position) => all.indexOf(code) !== position)).toEqual([])
  })

  it('has an index that lists each page', () => {
    expect(links(index)).toEqual(expect.arrayContaining(areas))
  })
})

describe('the search for codes', () => {
  it.each([
    ["return fail('Broken', 'x')", ['Broken']],
    ["throw finalFailure(\n  'ERR_SOME_THING',\n  'x')", ['ERR_SOME_THING']],
    ["throw new BlueprintError('Broken', 'x')", ['Broken']],
    ["return fail(bad ? 'OneWay' : 'OtherWay', 'x')", ['OneWay', 'OtherWay']],
    ["const error = { operation: 'Reconcile', reason: 'Broken', message: 'Text' }", ['Broken']],
    ["const codes = ['ERR_A_B']", ['ERR_A_B']],
    ["const plan = { errorCodes: { Broken: ['ERR_BROKEN'] } }", ['ERR_BROKEN']],
    ["verdict({ reason: 'nothing changed' }); if (error.code === 'ERR_OF_NODE') stop('Word')", []],
  ])('finds in %j the codes %j', (text, expected) => {
    expect([...codesIn('x.ts', text)]).toEqual(expected)
  })
})
