// The codes that code can put before a user, found by TypeScript's parser: arguments of the functions that make faults and
// failures, and the properties `code`, `reason` and `codes` of object literals.

import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import ts from 'typescript'

const MAKERS = new Set(['fail', 'retryLater', 'finalFailure', 'retryableFailure', 'oneFault', 'BlueprintError'])
// Their first argument is the operation, the reason and codes follow.
const DEPLOY_MAKERS = new Set(['DeployError', 'configurationProblem'])
const PROPERTIES = new Set(['code', 'reason', 'codes', 'errorCodes'])
// One word in CamelCase or an ERR_ constant; texts for people have blanks.
const CODE = /^(?:ERR_[A-Z_]+|[A-Z]+[a-z]+(?:[A-Z][a-z]*)*)$/

/** Codes that a module can produce. */
export function codesIn(path: string, text: string): ReadonlySet<string> {
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
export async function codesBelow(root: string, folders: readonly string[]): Promise<ReadonlySet<string>> {
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
