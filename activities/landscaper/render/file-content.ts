// What a file holds, in a form that JSON has, too: bytes go as they are from where a file is read to the template that reads it.

import { isUtf8 } from 'node:buffer'

/** Text, or what is not UTF-8. deploy/templates/content.go reads it. */
export type FileContent = string | BinaryContent

export interface BinaryContent {
  readonly base64: string
}

export function contentOf(bytes: Buffer): FileContent {
  return isUtf8(bytes) ? bytes.toString('utf8') : { base64: bytes.toString('base64') }
}

export function isText(content: FileContent): content is string {
  return typeof content === 'string'
}

/** For messages, what is no text with replacement characters. */
export function shownText(content: FileContent): string {
  return isText(content) ? content : Buffer.from(content.base64, 'base64').toString('utf8')
}

/** What is wrong with it where text is wanted; goes on "FILE: ". Also for the process that checks schemas, which has no Buffer. */
export function notText({ base64 }: BinaryContent): string {
  const bytes = (base64.length / 4) * 3 - (base64.length - base64.replace(/=+$/, '').length)
  return `found ${bytes} bytes that are not UTF-8, expected text`
}
