// Vitest reporter: prints the seed of the run, and after a failure the command that repeats each failed test with the same cases.

import { relative } from 'node:path'

import type { Reporter, TestModule } from 'vitest/node'

import { isLong, SEED } from '../matrix/form.ts'

const VARIABLES = `PAWL_SEED=${SEED}${isLong ? ' PAWL_LONG=1' : ''}`

export class RepeatReporter implements Reporter {
  onTestRunStart(): void {
    process.stdout.write(`test matrices: ${VARIABLES}\n`)
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    for (const module of modules) {
      const file = relative(process.cwd(), module.moduleId)
      for (const test of module.children.allTests('failed'))
        process.stdout.write(`repeat: ${VARIABLES} npm test -- ${file} -t ${quoted(pattern(test.fullName))}\n`)
    }
  }
}

/** Vitest matches the test's name with a regular expression, in which a full name joins its parts with one space. */
function pattern(fullName: string): string {
  return fullName.replaceAll(' > ', ' ').replace(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}

// eslint-disable-next-line no-restricted-syntax -- vitest reads the default export
export default RepeatReporter
