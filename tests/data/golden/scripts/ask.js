// Asks the npm package for the node of every recorded key and prints where it differs.
//
//   npm install hashring@3.2.0
//   NODE_PATH=node_modules node ask.js ..
//
// To record other keys or servers, replace them in the file and take the answers printed here.

const fs = require("fs");
const path = require("path");
const HashRing = require("hashring");

const file = path.join(process.argv[2], "npm_hashring.json");
let asked = 0;
let differing = 0;
for (const group of JSON.parse(fs.readFileSync(file, "utf8")).groups) {
  const ring = new HashRing(group.servers, group.algorithm, group.options);
  for (const [key, node] of group.vectors) {
    const answer = ring.get(key);
    asked += 1;
    if (answer !== node) {
      differing += 1;
      console.log(JSON.stringify({ config: group.config, key, recorded: node, answer }));
    }
  }
}
console.log(`npm_hashring.json: ${asked} asked, ${differing} differ`);
