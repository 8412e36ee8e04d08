// Records each distinct SQL statement that the bridge and the worker send to PostgreSQL. Node imports this file before
// the code of these processes. Before a new release changes the journal, create statements.json for the current
// release, in its checkout:
//
//   PAWL_STATEMENTS=/tmp/statements NODE_OPTIONS="--import $PWD/test/former/record-statements.js" \
//     npx vitest run --project e2e
//   node test/former/gather-statements.js /tmp/statements

import { appendFileSync, mkdirSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'

const folder = process.env.PAWL_STATEMENTS
const main = process.argv[1] ?? ''
if (folder !== undefined && /worker\/(bridge|reconciler)\.(ts|js)$/.test(main)) record(folder, main)

/**
 * @param {string} folder
 * @param {string} main
 */
function record(folder, main) {
  mkdirSync(folder, { recursive: true })
  const file = join(folder, `${process.pid}.jsonl`)
  // The `pg` module of the running process, whose checkout may differ from the checkout of this file.
  const { Client } = createRequire(main)('pg')
  const query = Client.prototype.query
  const known = new Set()
  Client.prototype.query = function (statement, ...rest) {
    const text = typeof statement === 'string' ? statement : statement?.text
    if (typeof text === 'string' && !known.has(text)) {
      known.add(text)
      appendFileSync(file, `${JSON.stringify(text)}\n`)
    }
    return query.call(this, statement, ...rest)
  }
}
