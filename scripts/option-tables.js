// node scripts/option-tables.js           writes the tables of docs/configuration.md from the schema of the options and the defaults of the models
// node scripts/option-tables.js --check   writes nothing: exits 0 if the tables are current, 1 if not
//
// It reads the compiled schema: build the TypeScript first. The tables lie between <!-- NAME --> and <!-- end of NAME -->.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { format, resolveConfig } from 'prettier'
import { defaultsFor, zoo } from '../dist/src/model/zoo/index.js'
import { topics } from '../dist/src/options/train-options.js'
import { summariesOf } from '../dist/src/schema/options-in.js'

const PAGE = join(fileURLToPath(new URL('..', import.meta.url)), 'docs', 'configuration.md')

const found = readFileSync(PAGE, 'utf8')
const wanted = await page(found)
if (!process.argv.includes('--check')) writeFileSync(PAGE, wanted)
else if (found !== wanted) {
  process.stderr.write('docs/configuration.md: its tables are not what the options are; run `npm run docs`\n')
  process.exitCode = 1
}

async function page(text) {
  const parts = { 'options of train': optionTables(), 'defaults of models': modelTable() }
  const written = Object.entries(parts).reduce((before, [name, part]) => replaced(before, name, part), text)
  return format(written, { ...(await resolveConfig(PAGE)), filepath: PAGE })
}

function replaced(text, name, part) {
  const [before, inner] = text.split(`<!-- ${name} -->`)
  const [, after] = inner?.split(`<!-- end of ${name} -->`) ?? []
  if (after === undefined) throw new Error(`docs/configuration.md has no <!-- ${name} --> with its end`)
  return `${before}<!-- ${name} -->\n\n${part}\n\n<!-- end of ${name} -->${after}`
}

function optionTables() {
  return Object.entries(topics)
    .map(([topic, entries]) => `### ${topic}\n\n${table(['option', 'flag', 'takes', 'default', 'meaning'], summariesOf(entries).map(row))}`)
    .join('\n\n')
}

function row({ path, flag, takes, fallback = '', text, of }) {
  return [`\`${path}\``, flag === undefined ? '' : `\`${flag}\``, takes, fallback, of.length > 0 ? `${text} (${of.join(', ')})` : text]
}

function modelTable() {
  const named = groupBy(Object.keys(zoo), defaults)
  return table(
    ['model', 'batch', 'learning rate', 'momentum', 'weight decay', 'epochs', 'schedule'],
    [...named, [defaults(''), []]].map(([cells, names]) => [
      names.map((name) => `\`${name}\``).join(', ') || 'models of your own',
      ...cells.split('|')
    ])
  )
}

function defaults(model) {
  const { batch, learningRate, momentum, weightDecay, epochs, schedule, milestones, gamma } = defaultsFor(model)
  const drops = milestones.map((fraction) => Number(fraction.toFixed(3))).join(', ')
  const when = schedule === 'multistep' ? `times ${gamma} after ${drops} of the run` : `\`${schedule}\``
  return [batch, learningRate, momentum, weightDecay, epochs, when].join('|')
}

function groupBy(values, keyOf) {
  const groups = new Map()
  for (const value of values) groups.set(keyOf(value), [...(groups.get(keyOf(value)) ?? []), value])
  return groups
}

function table(titles, rows) {
  const line = (cells) => `| ${cells.map((cell) => String(cell).replaceAll('|', '\\|')).join(' | ')} |`
  return [line(titles), line(titles.map(() => ':--')), ...rows.map(line)].join('\n')
}
