// Writes the fields of Landscaper's CustomResourceDefinitions into landscaper-fields.txt, which
// test/worker/gen/reference-schema.test.ts compares with Pawl's fields.
//
//   GOPATH=$(mktemp -d) go mod download -json github.com/gardener/landscaper/apis@v0.127.0  # prints the folder, "Dir"
//   node test/support/reference-schema/record-fields.ts DIR/crds/manifests

import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parse } from 'yaml'

import { type Definition, schemaLines } from './schema-lines.ts'

const HEADER = `# Fields of the CustomResourceDefinitions of Landscaper v0.127.0 (module github.com/gardener/landscaper/apis).
# Copyright Gardener contributors, Apache-2.0. Extracted by record-fields.ts: paths and keywords of the schemas, without descriptions.
`

const folder = process.argv[2]
if (folder === undefined) throw new Error('the folder of the CustomResourceDefinitions is missing; see the header')
const files = (await readdir(folder)).filter((name) => name.endsWith('.yaml')).sort()
const texts = await Promise.all(files.map((name) => readFile(join(folder, name), 'utf8')))
const lines = texts.flatMap((text) => [...schemaLines(parse(text) as Definition)])
const body = lines.map(([at, keywords]) => `${at} ${keywords}\n`)
await writeFile(new URL('landscaper-fields.txt', import.meta.url), HEADER + body.join(''))
